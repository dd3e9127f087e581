-- take.lua: takes a send time of a user, if the rules allow it.
--
-- KEYS[1]  sends of the user (ZSET: message id -> send time, Unix ms)
-- ARGV[1]  message id
-- ARGV[2]  send time, Unix ms
--
-- Returns  1 taken, or taken before by the same message; 0 not free.
-- Cost     O(log n) in the user's sends, and the sends of two hours.

local key, id, at = KEYS[1], ARGV[1], tonumber(ARGV[2])
local minute, hour, day = 60000, 3600000, 86400000

local has = redis.call('ZSCORE', key, id)
if has then return tonumber(has) == at and 1 or 0 end

-- 10 in a day of UTC.
local midnight = at - at % day
if redis.call('ZCOUNT', key, midnight, midnight + day - 1) >= 10 then return 0 end

-- 1 in any minute and 5 in any hour: of the sends around this one, and itself, no two are within a
-- minute, and no six within an hour.
local near = redis.call('ZRANGEBYSCORE', key, '(' .. at - hour, '(' .. at + hour, 'WITHSCORES')
local times, placed = {}, false
for i = 2, #near, 2 do
  local other = tonumber(near[i])
  if math.abs(other - at) < minute then return 0 end
  if not placed and other > at then times[#times + 1], placed = at, true end
  times[#times + 1] = other
end
if not placed then times[#times + 1] = at end
for i = 6, #times do
  if times[i] - times[i - 5] < hour then return 0 end
end

redis.call('ZADD', key, at, id)
-- No rule reaches back further than a day.
local now = redis.call('TIME')[1] * 1000
redis.call('ZREMRANGEBYSCORE', key, '-inf', now - day)
local last = tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
redis.call('PEXPIREAT', key, math.max(last, now) + day)
return 1
