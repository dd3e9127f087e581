-- place/next_free.lua: finds the next free times from a moment on. Each counts those
-- before it as taken. Writes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- ARGV[1..9] now, and what judges, see fragments/judging.lua
-- ARGV[10] from when, Unix ms; "" for now
-- ARGV[11] 1 for later times up to the reach, -1 for earlier ones down to now
-- ARGV[12] how many times to find
-- ARGV[13] id of a reservation that does not count; "" for none
-- ARGV[14] times that the search found before, ascending, Unix ms, separated by
--          spaces; "" for none
--
-- Returns  {now, where the search continues or 0, time, ...}: fewer times than
--          requested, with 0, if there are no more; with a time, if the work of this
--          call was used up. Or {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(m) in the reservations between the moment and the last time found,
--          at most WORK steps (fragments/search.lua).

if #KEYS ~= 2 or #ARGV ~= 14 then
  return redis.error_reply('ERR place/next_free.lua: wrong number of keys or arguments')
end
--@include moving

local timeline = KEYS[1]
--@include clock
--@include judging
local start = math.max(tonumber(ARGV[10]) or now, now)
local direction = tonumber(ARGV[11])
local last = direction > 0 and now + reach or now

--@include status
--@include settings
--@include policy
--@include category
--@include search

local changed = settings_changed(KEYS[2], start)
if changed then return changed end

local taken = {}
for at in string.gmatch(ARGV[14], '%S+') do taken[#taken + 1] = tonumber(at) end

local rules = rules_of(rule_words, scope_words)
local excluded = ARGV[13] ~= '' and {[ARGV[13]] = true} or nil
local next_free, take_it = new_search(rules, direction, start, excluded, nil, taken)
local reply = {now, 0}
for k = 1, tonumber(ARGV[12]) do
  local free, resume = next_free(last)
  if not free then
    reply[2] = resume or 0
    break
  end
  reply[2 + k] = free
  take_it()
end
return reply
