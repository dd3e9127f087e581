-- notice_settle.lua: records what became of the delivery of a notice.
--
-- Only the delivery that holds the notice, by its nonce, may settle it; a
-- repeated call gives the same answer, and one behind the end of its lease counts
-- as long as nobody else has the notice.
--
-- KEYS[1]  notice (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: notice id -> when to look, Unix ms)
-- KEYS[3]  failed notices of the partition (ZSET: notice id -> when it ended, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  notice id
-- ARGV[3]  nonce of this delivery
-- ARGV[4]  d delivered, f failed for good, x dropped: not to be sent, p to be tried again
-- ARGV[5]  how long an ended notice is kept, ms
-- ARGV[6]  reason it was not delivered; the provider's id where it was; "" for none
-- ARGV[7]  of p not before, Unix ms; "" otherwise
-- ARGV[8]  of p when to look after it, Unix ms; "" otherwise
-- ARGV[9]  of p 1 if nothing was sent and the try does not count, otherwise 0
--
-- Returns  {1, now} recorded, now or by an earlier call of this delivery;
--          {0, now} superseded: another delivery has the notice, or it is gone.
-- Cost     O(log n) in the partition's outbox and failed notices.

if #KEYS ~= 3 or #ARGV ~= 9 then
  return redis.error_reply('ERR notice_settle.lua: wrong number of keys or arguments')
end

local notice, outbox, dead = KEYS[1], KEYS[2], KEYS[3]
local id, nonce, outcome, reason = ARGV[2], ARGV[3], ARGV[4], ARGV[6]
--@include clock
--@include outbox

local r = redis.call('HMGET', notice, 'k', 'z', 'o')
if not r[1] or r[3] ~= nonce then return {0, now} end
if r[2] ~= SENDING then return {1, now} end
if outcome ~= 'p' then
  end_notice(outcome, r[1], nonce, reason, tonumber(ARGV[5]))
  return {1, now}
end
redis.call('HSET', notice, 'a', ARGV[7], 'w', reason)
redis.call('HDEL', notice, 'z', 'v')
if ARGV[9] == '1' then redis.call('HINCRBY', notice, 'n', -1) end
redis.call('ZADD', outbox, ARGV[8], id)
return {1, now}
