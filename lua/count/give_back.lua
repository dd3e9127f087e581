-- count/give_back.lua: takes a call off all of its counters again, in the periods in which it was
-- counted, or resets them.
--
-- KEYS[1]  start of the keys of its counters, see count/count.lua
-- KEYS[2]  event whose limits applied too (HASH, see fragments/counted.lua); optional
-- ARGV[1]  when it was counted, Unix ms; "" for now, by the server's clock
-- ARGV[2]  how many to take off; "" resets the counters, so that a window begins again
-- ARGV[3]  limit and period of each counter of the call itself, see count/count.lua
-- ARGV[4]  names of these counters
-- ARGV[5]  IANA time zone of the natural periods; "" for UTC
-- ARGV[6]  offsets of that zone, see judge/zone.lua
-- ARGV[7]  token of the call: a call that is repeated after a lost reply takes off nothing more.
--          It is kept for a minute under KEYS[1] and "~<token>" (STRING)
--
-- Returns  {1, when}, even if nothing was left to give back.
--          Or {-2, when, zone}: this is the event's time zone. Nothing is done.
-- Cost     O(c) in the counters.

if not ((#KEYS == 1 or #KEYS == 2) and #ARGV == 7) then
  return redis.error_reply('ERR count/give_back.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include counted
--@include counters
--@include counters_change

local REPEATED = 60000 -- ms within which a client repeats a call
local mark = KEYS[1] .. '~' .. ARGV[7]
if redis.call('EXISTS', mark) == 1 then return {1, now} end
if ARGV[2] == '' then
  for i = 1, #counted do redis.call('DEL', counted[i].key) end
else
  check_counters(counted, 0)
  if give_back_counters(counted, tonumber(ARGV[2])) then redis.call('SET', mark, 1, 'PX', REPEATED) end
end
return {1, now}
