-- rate/permits_look.lua: returns how many permits are taken, and when more are free.
-- Writes nothing.
--
-- KEYS[1]  rate (STRING, see fragments/permits.lua)
-- KEYS[2]  permits taken overall (ZSET, see fragments/permits.lua)
-- KEYS[3]  permits taken by this client (the same)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how much longer than the interval permits stay taken, ms
--
-- Returns  {1, now, rate, taken, when more are free, when all are free}; both times are
--          0 if none is taken
--          {-1, now}: no rate is set
-- Cost     O(log m) in the permits taken; O(log m log t) where calls took more than one.

if #KEYS ~= 3 or #ARGV ~= 2 then
  return redis.error_reply('ERR rate/permits_look.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include permits

local rate, interval, key = read_rate(KEYS[1], KEYS[2], KEYS[3])
if rate == false then return redis.error_reply('ERR rate/permits_look.lua: the rate is not one') end
if not rate then return {-1, now} end

local lasts = interval + ARGV[2]
local taken = read_taken(key, now, lasts)
if taken.used == 0 then return {1, now, rate, 0, 0, 0} end
-- Under a lowered rate more than one has to come back before another is free.
local first = math.max(1, taken.used - rate + 1)
return {1, now, rate, taken.used, nth_taken(taken, first) + lasts, taken.newest + lasts}
