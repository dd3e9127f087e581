-- count/look.lua: returns what count/count.lua would answer. Writes nothing.
--
-- KEYS[1]  start of the keys of its counters, see count/count.lua
-- KEYS[2]  event with further limits (HASH, see fragments/counted.lua); optional
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how many would be counted
-- ARGV[3]  limit and period of each counter of the call itself, see count/count.lua
-- ARGV[4]  names of these counters
-- ARGV[5]  IANA time zone of the natural periods; "" for UTC
-- ARGV[6]  offsets of that zone, see judge/zone.lua
--
-- Returns  what count/count.lua returns without an alert; used does not include the call.
-- Cost     O(c) in the counters.

if not ((#KEYS == 1 or #KEYS == 2) and #ARGV == 6) then
  return redis.error_reply('ERR count/look.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include counted
--@include counters

local status, decides = judge_counters(counted, tonumber(ARGV[2]))
return counters_reply(counted, of_event, status, decides, '')
