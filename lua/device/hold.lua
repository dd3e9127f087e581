-- device/hold.lua: holds room for one more device of an account.
--
-- A hold ends with device/note_count.lua, or by itself.
--
-- KEYS[1]  devices of the account (HASH: partition -> how many there are; "all" -> their sum)
-- KEYS[2]  holds of the account (ZSET: token -> until when, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how many devices the account may have
-- ARGV[3]  token of the hold
-- ARGV[4]  for how long it holds, ms
--
-- Returns  {1} held; {0} the account has as many devices and holds as it may have.
-- Cost     O(log n) in the holds.

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR device/hold.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
-- One that ends later than a new one was made while the clock was ahead.
local others = redis.call('ZCOUNT', KEYS[2], now, now + ARGV[4])
if redis.call('ZSCORE', KEYS[2], ARGV[3]) then others = others - 1 end -- a repeated call
if tonumber(redis.call('HGET', KEYS[1], 'all') or 0) + others >= tonumber(ARGV[2]) then return {0} end
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1)
return {1}
