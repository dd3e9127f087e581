-- notice/settle.lua: records the outcome of the delivery of an alert.
--
-- Only the last delivery that claimed the alert, by its nonce, may settle it. A repeated call
-- returns the same answer. The call may come after the lease: as long as no other delivery has
-- claimed the alert, the outcome counts.
--
-- KEYS[1]  alert (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: alert id -> when to check, Unix ms)
-- KEYS[3]  failed alerts of the partition (ZSET: alert id -> when it ended, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  alert id
-- ARGV[3]  nonce of this delivery
-- ARGV[4]  d delivered, f failed for good, x dropped: not to be sent, p to be tried again
-- ARGV[5]  how long to keep an ended alert, ms
-- ARGV[6]  reason why it was not delivered, or the provider's id; "" for none
-- ARGV[7]  with p: not before, Unix ms; else ""
-- ARGV[8]  with p: when to check, Unix ms; else ""
-- ARGV[9]  with p: 1 if nothing was sent and the attempt does not count, else 0
--
-- Returns  {1, now} recorded, by this call or an earlier one of this delivery;
--          {0, now} superseded: another delivery has the alert, or it is gone.
-- Cost     O(log n) in the partition's outbox and failed alerts.

if #KEYS ~= 3 or #ARGV ~= 9 then
  return redis.error_reply('ERR notice/settle.lua: wrong number of keys or arguments')
end
--@include moving

local notice, outbox, dead = KEYS[1], KEYS[2], KEYS[3]
local id, nonce, outcome, reason = ARGV[2], ARGV[3], ARGV[4], ARGV[6]
--@include clock
--@include dead
--@include outbox

local r = redis.call('HMGET', notice, 'k', 'z', 'o')
if not r[1] or r[3] ~= nonce then return {0, now} end
if r[2] ~= SENDING then return {1, now} end
if outcome ~= 'p' then
  end_notice(outcome, r[1], nonce, reason, tonumber(ARGV[5]))
  return {1, now}
end
redis.call('HSET', notice, 'a', ARGV[7], 'w', reason)
redis.call('HDEL', notice, 'z', 'v', 'f', 'y')
if ARGV[9] == '1' then
  redis.call('HINCRBY', notice, 'n', -1)
else
  redis.call('HSETNX', notice, 't', now)
end
redis.call('ZADD', outbox, ARGV[8], id)
return {1, now}
