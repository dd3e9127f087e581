-- rate/tokens_give_back.lua: puts tokens back into a bucket, up to its capacity.
--
-- KEYS[1]  bucket (HASH, see fragments/tokens.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  tokens to give back, at most the capacity
-- ARGV[3]  tokens added in each interval
-- ARGV[4]  interval, ms
-- ARGV[5]  capacity of the bucket, tokens
-- ARGV[6]  token of the call: a call that is repeated after a lost reply gives back nothing more
--
-- Returns  {1, now, tokens left, 0, when the bucket is full}
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 6 then
  return redis.error_reply('ERR rate/tokens_give_back.lua: wrong number of keys or arguments')
end

--@include clock
--@include tokens
--@include tokens_change

local GIVEN = 160 -- bytes: the tokens of the last calls, about eight
local former = bucket[1] and redis.call('HGET', KEYS[1], 'g') or ''
if bucket[1] and not string.find(former, ' ' .. ARGV[6], 1, true) then
  level = math.min(full, level + n)
  redis.call('HSET', KEYS[1], 'g', string.sub(former .. ' ' .. ARGV[6], -GIVEN))
  keep()
end
return answer(1, 0)
