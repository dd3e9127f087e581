-- notice/renew.lua: renews the lease of the delivery that has an alert.
--
-- The call may come after the lease: if no other delivery has claimed the alert since, this
-- delivery has it again.
--
-- KEYS[1]  alert (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: alert id -> when to check, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  alert id
-- ARGV[3]  nonce of this delivery
-- ARGV[4]  lease from now on, ms
--
-- Returns  {1, now} renewed; {0, now} another delivery has the alert, or it ended.
-- Cost     O(log n) in the partition's outbox.

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR notice/renew.lua: wrong number of keys or arguments')
end
--@include moving

local notice, outbox, id, nonce = KEYS[1], KEYS[2], ARGV[2], ARGV[3]
--@include clock

local r = redis.call('HMGET', notice, 'z', 'o')
if r[1] ~= 's' or r[2] ~= nonce then return {0, now} end
local lease_end = now + ARGV[4]
redis.call('HSET', notice, 'v', lease_end)
redis.call('HDEL', notice, 'f', 'y')
redis.call('ZADD', outbox, lease_end, id)
return {1, now}
