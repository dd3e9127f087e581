-- device/hold.lua: holds room for one more device of an account.
--
-- A hold ends with device/note_count.lua. If its time is over, its program died, and may have
-- registered the device before. So no hold is made until the device is counted.
--
-- KEYS[1]  devices of the account (HASH: partition -> number; "all" -> their sum)
-- KEYS[2]  holds of the account (ZSET: "token partition" -> until when, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how many devices the account may have
-- ARGV[3]  the hold: its token and the partition of the user
-- ARGV[4]  length of the hold, ms
--
-- Returns  {1, {}} held; {0, {}} devices and holds of the account have reached ARGV[2]; {0, holds}
--          these holds are over: count their partitions, end them, and call again.
-- Cost     O(log n) in the holds.

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR device/hold.lua: wrong number of keys or arguments')
end
--@include moving

local KEPT = 172800000 -- ms, longer than between two sweeps, which count all devices again
local MOST = 10 -- holds in a reply

--@include clock
local over = redis.call('ZRANGE', KEYS[2], '-inf', now - 1, 'BYSCORE', 'LIMIT', 0, MOST)
if not over[1] then -- those that end later than a new one were made while the clock was ahead
  over = redis.call('ZRANGE', KEYS[2], '(' .. string.format('%.0f', now + ARGV[4]), '+inf', 'BYSCORE', 'LIMIT', 0, MOST)
end
if over[1] then return {0, over} end
local others = redis.call('ZCARD', KEYS[2])
if redis.call('ZSCORE', KEYS[2], ARGV[3]) then others = others - 1 end -- a repeated call
if tonumber(redis.call('HGET', KEYS[1], 'all') or 0) + others >= tonumber(ARGV[2]) then return {0, {}} end
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[3])
redis.call('PEXPIRE', KEYS[2], KEPT)
return {1, {}}
