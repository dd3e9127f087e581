-- tokens: how full a token bucket is.
--
-- Counted are parts of a token: a token has as many as its interval has
-- milliseconds, so that each millisecond adds as many as the interval has
-- tokens. Both are whole numbers, and nothing is ever rounded: no rate drifts,
-- however often it is asked for. Go keeps a full bucket below 2^52 parts.
--
-- A bucket is a HASH: l parts in it, a when that was, Unix ms, i the interval
-- they are parts of, ms. One that is not there is full, and one that is full by
-- itself expires. Needs KEYS[1] and ARGV[2] to ARGV[5] as tokens_take.lua has
-- them, and now.
local n = ARGV[2] * ARGV[4]
local tokens, interval = tonumber(ARGV[3]), tonumber(ARGV[4])
local full = ARGV[5] * interval
local level, at = full, now
local bucket = redis.call('HMGET', KEYS[1], 'l', 'a', 'i')
if bucket[1] then
  level, at = tonumber(bucket[1]), tonumber(bucket[2])
  if tonumber(bucket[3]) ~= interval then level = math.floor(level / bucket[3] * interval) end
  -- A clock that goes back adds nothing, and neither does it on its way to where
  -- it has been before.
  if now > at then level, at = level + (now - at) * tokens, now end
  level = math.min(level, full)
end

-- filled_to gives how long until so many parts are in the bucket, ms.
local function filled_to(parts)
  return math.max(0, math.ceil((parts - level) / tokens)) + at - now
end

local function keep()
  redis.call('HSET', KEYS[1], 'l', level, 'a', at, 'i', interval)
  redis.call('PEXPIREAT', KEYS[1], now + filled_to(full)) -- one that is full is gone at once
end

local function answer(status, wait)
  return {status, now, (level - level % interval) / interval, wait, now + filled_to(full)}
end
