-- place/next_free.lua: finds the next free times from a moment on. Each counts those before it as
-- taken. Writes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  from when, Unix ms; "" for now
-- ARGV[5]  1 for later times up to the reach, -1 for earlier ones down to now
-- ARGV[6]  how many times to find
-- ARGV[7]  id of a reservation that does not count; "" for none
-- ARGV[8]  times that the search found before, ascending, Unix ms, separated by
--          spaces; "" for none
-- ARGV[9]  for the time of a shift: the time asked for, the last one, and the spread, see
--          judge/spread.lua; "" for another
--
-- Returns  {now, where the search continues or 0, time, ...}: fewer times than requested, with
--          0, if there are no more; with a time, if the work of this call was used up.
--          Or {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(m) in the reservations between the moment and the last time found,
--          at most q.work steps (judge/question.lua).

if #KEYS ~= 2 or #ARGV ~= 9 then
  return redis.error_reply('ERR place/next_free.lua: wrong number of keys or arguments')
end
--@include moving

local timeline = KEYS[1]
--@include clock
--@include judge/policy
local start = math.max(tonumber(ARGV[4]) or now, now)
local direction = tonumber(ARGV[5])
local last = direction > 0 and now + reach or now

--@include status
--@include settings
--@include judge/category
--@include judge/judge
--@include judge/taken
--@include judge/spread

local changed = settings_changed(KEYS[2], start)
if changed then return changed end

local rules = rules_of(rule_words, scope_words)
if ARGV[7] ~= '' then q.excluded[ARGV[7]] = true end
local spread
if ARGV[9] ~= '' then
  local asked, until_at, words = string.match(ARGV[9], '^(%S+) (%S+) (.*)$')
  last = math.min(last, tonumber(until_at))
  spread = read_spread(words, tonumber(asked) or now, last)
end
for at in string.gmatch(ARGV[8], '%S+') do take(tonumber(at), rules.category) end

local reply, at = {now, 0}, start
for k = 1, tonumber(ARGV[6]) do
  if q.spent > q.work and at ~= start then
    reply[2] = at
    break
  end
  local free, resume
  if spread then
    free, resume = next_spread(q, rules, at, last, spread)
  else
    free, resume = next_free(q, rules, at, direction, last)
  end
  if not free then
    reply[2] = resume or 0
    break
  end
  take(free, rules.category)
  reply[2 + k], at = free, free
end
return reply
