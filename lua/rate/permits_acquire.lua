-- rate/permits_acquire.lua: takes permits, or returns how long until enough of them are free.
--
-- A call takes all its permits or none. A repeated call with the same token takes no more while the
-- first ones are taken.
--
-- KEYS[1]  rate (STRING, see fragments/permits.lua)
-- KEYS[2]  permits taken overall (ZSET, see fragments/permits.lua)
-- KEYS[3]  permits taken by this client (the same)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  token of the call
-- ARGV[3]  permits to take
-- ARGV[4]  how much longer than the interval any permits stay taken, ms
-- ARGV[5]  how much longer these stay taken, ms: they count as taken that much later
--
-- Returns  {1, now, rate, interval, taken with these, 0, when the last one is free,
--          when these were taken}
--          {0, now, rate, interval, taken, wait in ms, when the last one is free}: not
--          enough are free before the wait is over
--          {-1, now}: no rate is set
--          {-2, now, rate, interval}: the rate has fewer permits
--          {-3, now, permits}: the token has taken this number, which is not ARGV[3]
-- Cost     O(log m) in the permits taken; a refusal of a call, where others took more
--          than one, O(log m log t) in these and the length of the interval. Permits that
--          are back, or not taken, are removed: O(1) for each, once.

if #KEYS ~= 3 or #ARGV ~= 5 then
  return redis.error_reply('ERR rate/permits_acquire.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include permits
--@include permits_change

local rate, interval, key, stays = read_rate(KEYS[1], KEYS[2], KEYS[3])
if rate == false then return redis.error_reply('ERR rate/permits_acquire.lua: the rate is not one') end
if not rate then return {-1, now} end
if stays then call('PEXPIRE', KEYS[1], stays) end
local n = tonumber(ARGV[3])
if n > rate then return {-2, now, rate, interval} end

-- A permit is back `lasts` ms after it was taken. If the clock went back, permits taken a little
-- later than now count too.
local lasts = interval + ARGV[4]
local taken = read_taken(key, now, lasts)
local held, at = taken_by(key, ARGV[2], taken.classes, taken.since, taken.till)
if held > 0 and held ~= n then return {-3, now, held} end

local missing = taken.used + n - rate
if held == 0 and missing > 0 then
  -- The `missing` oldest permits have to come back first. They are read before the expiry is set:
  -- on a busy machine the newest may be back by then, and Redis removes the key.
  local wait = nth_taken(taken, missing) + lasts - now
  call('PEXPIREAT', key, taken.newest + lasts) -- the interval may have grown
  return {0, now, rate, interval, taken.used, wait, taken.newest + lasts}
end

if held == 0 then
  for _, k in ipairs(taken.older) do call('ZREMRANGEBYSCORE', key, k * CLASS, k * CLASS + taken.since - 1) end
  for _, k in ipairs(taken.later) do
    call('ZREMRANGEBYSCORE', key, k * CLASS + taken.till + 1, (k + 1) * CLASS - 1)
  end
  at = now + ARGV[5]
  add(key, ARGV[2], n, at)
  taken.used, taken.newest = taken.used + n, math.max(taken.newest, at)
end
call('PEXPIREAT', key, taken.newest + lasts)
return {1, now, rate, interval, taken.used, 0, taken.newest + lasts, at}
