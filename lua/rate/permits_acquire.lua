-- rate/permits_acquire.lua: takes permits, or says how long until enough of them
-- are free.
--
-- A taken permit is free again after the interval of the rate. A call takes all its
-- permits or none. A repeated call with the same token takes no more while the first
-- ones are taken.
--
-- KEYS[1]  rate (STRING: permits, their interval in ms and "o" overall or "c" for
--          each client, separated by spaces)
-- KEYS[2]  permits taken overall (ZSET: "token/1", "token/2" ... -> when taken, Unix ms)
-- KEYS[3]  permits taken by this client (the same)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  token of the call
-- ARGV[3]  permits to take
-- ARGV[4]  how much longer than the interval they stay taken, ms
--
-- Returns  {1, now, rate, interval, taken with these, 0, when the last one is free,
--          when these were taken}
--          {0, now, rate, interval, taken, wait in ms, when the last one is free}: not
--          enough are free before the wait is over
--          {-1, now}: no rate is set
--          {-2, now, rate, interval}: the rate never has so many permits
-- Cost     O(n log m) in the permits to take and those taken.

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR rate/permits_acquire.lua: wrong number of keys or arguments')
end

local call = redis.call
--@include clock

local text = call('GET', KEYS[1])
if not text then return {-1, now} end
local rate, interval, owner = string.match(text, '^(%d+) (%d+) ([oc])')
if not rate then return redis.error_reply('ERR rate/permits_acquire.lua: the rate is not one') end
rate, interval = tonumber(rate), tonumber(interval)
local n = tonumber(ARGV[3])
if n > rate then return {-2, now, rate, interval} end

local taken = owner == 'c' and KEYS[3] or KEYS[2]
local lasts = interval + ARGV[4]
-- A permit is back `lasts` ms after it was taken. If the clock went back, permits
-- taken later than now count too.
local since = now - lasts + 1
local used = call('ZCOUNT', taken, since, '+inf')
local newest = tonumber(call('ZRANGE', taken, -1, -1, 'WITHSCORES')[2] or now - lasts)
local function member(i) return table.concat({ARGV[2], i}, '/') end -- i is small: no digit is lost

local missing = used + n - rate
local held = tonumber(call('ZSCORE', taken, member(1)) or since - 1)
if held < since and missing > 0 then
  -- The `missing` oldest permits have to come back first.
  local last = call('ZRANGE', taken, since, '+inf', 'BYSCORE', 'LIMIT', missing - 1, 1, 'WITHSCORES')
  call('PEXPIREAT', taken, newest + lasts) -- the interval may have grown
  return {0, now, rate, interval, used, last[2] + lasts - now, newest + lasts}
end

if held < since then
  call('ZREMRANGEBYSCORE', taken, '-inf', since - 1)
  for i = 1, n do call('ZADD', taken, now, member(i)) end
  used, newest, held = used + n, math.max(newest, now), now
end
call('PEXPIREAT', taken, newest + lasts)
return {1, now, rate, interval, used, 0, newest + lasts, held}
