-- tokens: how full a token bucket is.
--
-- A bucket counts parts of tokens. A token has as many parts as its interval has milliseconds, so
-- each millisecond adds as many parts as the interval has tokens. Both are whole numbers: nothing
-- is rounded, and no rate drifts. Go keeps a full bucket below 2^52 parts.
--
-- A bucket is a HASH:
--
--   l  parts in it
--   a  time of that count, Unix ms
--   i  interval of the parts, ms
--   g  tokens of the last calls that gave back, each after a space; absent for none
--
-- A bucket that does not exist is full. A full bucket expires. If the clock goes back, nothing is
-- added until the former time. A bucket that was changed more than an interval ahead of now keeps
-- its parts, and fills from now on: a step of the clock put it there, and would block all calls for
-- as long as the step. Needs now, KEYS[1] and ARGV[2] to ARGV[5] as in rate/tokens_take.lua.
local n = ARGV[2] * ARGV[4]
local tokens, interval = tonumber(ARGV[3]), tonumber(ARGV[4])
local full = ARGV[5] * interval
local level, at = full, now
local bucket = redis.call('HMGET', KEYS[1], 'l', 'a', 'i')
if bucket[1] then
  level, at = tonumber(bucket[1]), tonumber(bucket[2])
  if tonumber(bucket[3]) ~= interval then level = math.floor(level / bucket[3] * interval) end
  if at - now > interval then at = now end
  if now > at then level, at = level + (now - at) * tokens, now end
  level = math.min(level, full)
end

-- filled_to returns how long until the bucket has `parts`, ms.
local function filled_to(parts)
  return math.max(0, math.ceil((parts - level) / tokens)) + at - now
end

local function answer(status, wait)
  return {status, now, (level - level % interval) / interval, wait, now + filled_to(full)}
end
