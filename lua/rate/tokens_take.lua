-- rate/tokens_take.lua: takes tokens out of a bucket, or returns how long until it has enough.
--
-- KEYS[1]  bucket (HASH, see fragments/tokens.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  tokens to take, at most the capacity
-- ARGV[3]  tokens added in each interval
-- ARGV[4]  interval, ms
-- ARGV[5]  capacity of the bucket, tokens
--
-- Returns  {1, now, tokens left, 0, when the bucket is full}
--          {0, now, tokens left, wait in ms, when the bucket is full}: the bucket does
--          not have enough before the wait is over; nothing was taken
-- A refusal writes only if the clock has stepped back since the last call.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 5 then
  return redis.error_reply('ERR rate/tokens_take.lua: wrong number of keys or arguments')
end

--@include clock
--@include tokens
--@include tokens_change

if level < n then
  -- A bucket that was changed far ahead of now fills from now on.
  if tonumber(bucket[2] or 0) - now > interval then keep() end
  return answer(0, filled_to(n))
end
level = level - n
keep()
return answer(1, 0)
