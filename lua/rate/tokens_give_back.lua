-- rate/tokens_give_back.lua: puts tokens back into a bucket, up to its capacity.
--
-- KEYS[1]  bucket (HASH, see fragments/tokens.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  tokens to give back, at most the capacity
-- ARGV[3]  tokens added in each interval
-- ARGV[4]  interval, ms
-- ARGV[5]  capacity of the bucket, tokens
--
-- Returns  {1, now, tokens left, 0, when the bucket is full}
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 5 then
  return redis.error_reply('ERR rate/tokens_give_back.lua: wrong number of keys or arguments')
end

--@include clock
--@include tokens
--@include tokens_change

if bucket[1] then
  level = math.min(full, level + n)
  keep()
end
return answer(1, 0)
