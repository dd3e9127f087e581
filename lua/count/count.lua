-- count/count.lua: counts a call in all of its counters, or in none if one refuses.
--
-- KEYS[1]  start of the keys of its counters. The rest of such a key is
--          "<name>:<start of the natural period, Unix ms>" (STRING) or
--          "<name>:w" (HASH), see fragments/counters.lua
-- KEYS[2]  event with further limits (HASH, see fragments/counted.lua); optional
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how many to count
-- ARGV[3]  limit and period of each counter of the call itself, as in judge/rules.lua; a length
--          in ms is a window that begins with its first use
-- ARGV[4]  names of these counters, "tier burst"
-- ARGV[5]  IANA time zone of the natural periods; "" for UTC
-- ARGV[6]  offsets of that zone, see judge/zone.lua
-- ARGV[7]  of an alert: number of the counter that raises it, from 1, as in ARGV[4]
-- ARGV[8]  of an alert: percents, ascending, "80 100"
-- ARGV[9]  of an alert: "sl:{p0042}:", the start of the keys of its partition
-- ARGV[10] of an alert: its kind
-- ARGV[11] of an alert: letter of the flag, see fragments/alert.lua
-- ARGV[12] of an alert: subject
-- ARGV[13] of an alert: details
--
-- An event with alerts raises one when its counter of the longest period reaches a percent of its
-- limit, even by a refused call after the limit was lowered.
--
-- Returns  {status, now, number of the deciding counter, number of the event's counters,
--          id of the raised alert or "",
--          {limit, period, used, from, until} of each counter, the event's first}.
--          Status 1 counted; 0 the deciding counter refuses; -1 it always refuses, since its
--          limit is below the number to count.
--          Or {-2, now, zone}: this is the event's time zone. Nothing is done.
-- Cost     O(c) in the counters. O(log n) in the partition's outbox for an alert.

if not ((#KEYS == 1 or #KEYS == 2) and (#ARGV == 6 or #ARGV == 13)) then
  return redis.error_reply('ERR count/count.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include counted
--@include counters
--@include counters_change

local n = tonumber(ARGV[2])
local status, decides = judge_counters(counted, n)

if status == 1 then charge_counters(counted, n) end

local raised = ''
local c = status == 1 and ARGV[7] and counted[of_event + ARGV[7]]
local of_the_event = status >= 0 and (event[3] or '') ~= '' and counted[of_event]
if c or of_the_event then
--@include alert
  local function percents_of(text)
    local percents = {}
    for percent in string.gmatch(text, '%d+') do percents[#percents + 1] = tonumber(percent) end
    return percents
  end
  if c then
    raised = raise(ARGV[9], ARGV[10], ARGV[11], ARGV[12], c.from, c.till, c.used, c.limit,
      percents_of(ARGV[8]), ARGV[13])
  else
    c = of_the_event
    local prefix, name, key = string.match(KEYS[1], '^([^}]*}:)ev:([^:]*):(.*):$')
    local rule = whole(c.limit) .. '/calendar_' .. natural[-c.period]
    local details = {zone = ARGV[5], rule = rule, ['until'] = whole(c.till)}
    raised = raise(prefix, 'event_limit', 'e', name .. '/' .. key, c.from, c.till, c.used, c.limit,
      percents_of(event[3]), cjson.encode(details))
  end
end
return counters_reply(counted, of_event, status, decides, raised or '')
