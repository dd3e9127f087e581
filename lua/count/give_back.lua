-- count/give_back.lua: takes a call off all of its counters again, in the periods
-- in which it was counted, or resets them.
--
-- KEYS[1]  start of the keys of its counters, see count/count.lua
-- KEYS[2]  event whose limits applied too (HASH, see fragments/counted.lua); optional
-- ARGV[1]  when it was counted, Unix ms; "" for now, by the server's clock
-- ARGV[2]  how many to take off; "" for all: then the counters are as never used, and a
--          window begins anew
-- ARGV[3]  limit and period of each counter of the call itself, see count/count.lua
-- ARGV[4]  names of these counters
-- ARGV[5]  IANA time zone of the natural periods; "" for UTC
-- ARGV[6]  offsets of that zone, see fragments/zone.lua
--
-- Returns  {1, when}, also if nothing was left to give back.
--          Or {-2, when, zone}: the event's time zone is this one. Nothing is done.
-- Cost     O(c) in the counters.

if not ((#KEYS == 1 or #KEYS == 2) and #ARGV == 6) then
  return redis.error_reply('ERR count/give_back.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include counted
--@include counters
--@include counters_change

if ARGV[2] == '' then
  for i = 1, #counted do redis.call('DEL', counted[i].key) end
else
  check_counters(counted, 0)
  give_back_counters(counted, tonumber(ARGV[2]))
end
return {1, now}
