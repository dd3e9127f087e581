-- device/hold.lua: holds room for one more device of an account.
--
-- A hold ends with device/note_count.lua, or when its time is over.
--
-- KEYS[1]  devices of the account (HASH: partition -> number; "all" -> their sum)
-- KEYS[2]  holds of the account (ZSET: token -> until when, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how many devices the account may have
-- ARGV[3]  token of the hold
-- ARGV[4]  length of the hold, ms
--
-- Returns  {1} held; {0} devices and holds of the account have reached ARGV[2].
-- Cost     O(log n) in the holds.

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR device/hold.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
-- Holds that end later than a new one were made while the clock was ahead.
local others = redis.call('ZCOUNT', KEYS[2], now, now + ARGV[4])
if redis.call('ZSCORE', KEYS[2], ARGV[3]) then others = others - 1 end -- a repeated call
if tonumber(redis.call('HGET', KEYS[1], 'all') or 0) + others >= tonumber(ARGV[2]) then return {0} end
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1)
return {1}
