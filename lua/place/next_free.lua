-- place/next_free.lua: the next free times from a moment on, each counting those
-- before it as taken. Writes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  from when, Unix ms; "" for now
-- ARGV[3]  1 for later times up to the reach, -1 for earlier ones down to now
-- ARGV[4]  how many
-- ARGV[5]  reach of schedules, ms after now
-- ARGV[6]  id of a reservation that does not count, or ""
-- ARGV[7]  the rules, see fragments/policy.lua
-- ARGV[8]  the time zone's offsets, see fragments/zone.lua
-- ARGV[9]  of a search that goes on: the times found by now, ascending, Unix ms,
--          separated by spaces; "" for none
-- ARGV[10] whose rules they are, see fragments/policy.lua
-- ARGV[11] the quiet hours, see fragments/quiet.lua
-- ARGV[12] the settings that Go used, see fragments/settings.lua
--
-- Returns  {now, where to search on or 0, time, ...}: fewer times than asked
--          for, and 0, where there are no more; fewer and a time to search on
--          from where one call's work was used up. Or {SETTINGS_CHANGED, ...},
--          see fragments/settings.lua.
-- Cost     O(m) in the reservations between the moment and the last time found,
--          at most WORK steps (fragments/search.lua).

if #KEYS ~= 2 or #ARGV ~= 12 then
  return redis.error_reply('ERR place/next_free.lua: wrong number of keys or arguments')
end

local timeline = KEYS[1]
--@include clock
local direction = tonumber(ARGV[3])
local start = math.max(tonumber(ARGV[2]) or now, now)
local last = direction > 0 and now + ARGV[5] or now
local offsets, quiet, settings = ARGV[8], ARGV[11], ARGV[12]

--@include status
--@include settings
--@include policy
--@include search

local changed = settings_changed(KEYS[2])
if changed then return changed end

local taken = {}
for at in string.gmatch(ARGV[9], '%S+') do taken[#taken + 1] = tonumber(at) end

local next_free, take_it = new_search(rules_of(ARGV[7], ARGV[10]), direction, start, {[ARGV[6]] = true}, nil, taken)
local reply = {now, 0}
for k = 1, tonumber(ARGV[4]) do
  local free, resume = next_free(last)
  if not free then
    reply[2] = resume or 0
    break
  end
  reply[2 + k] = free
  take_it()
end
return reply
