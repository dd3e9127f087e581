-- rate/tokens_look.lua: returns how many tokens are in a bucket, and when more come.
-- Writes nothing.
--
-- KEYS[1]  bucket (HASH, see fragments/tokens.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  1
-- ARGV[3]  tokens added in each interval
-- ARGV[4]  interval, ms
-- ARGV[5]  capacity of the bucket, tokens
--
-- Returns  {1, now, tokens left, how long until the next one comes in ms, when the bucket
--          is full}; the third is 0 for a full bucket
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 5 then
  return redis.error_reply('ERR rate/tokens_look.lua: wrong number of keys or arguments')
end

--@include clock
--@include tokens

if level >= full then return {1, now, tonumber(ARGV[5]), 0, now} end
return answer(1, filled_to(level - level % n + n)) -- n is one token
