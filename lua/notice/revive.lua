-- notice/revive.lua: puts a failed alert back into the outbox, with all its attempts.
--
-- KEYS[1]  alert (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: alert id -> when to check, Unix ms)
-- KEYS[3]  failed alerts of the partition (ZSET: alert id -> when it ended, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  alert id
-- ARGV[3]  token of this call: a repeated call returns the first answer
--
-- Returns  {1, now} it is in the outbox; {0, now} it is no failed alert.
-- Cost     O(log n) in the partition's outbox and failed alerts.

if #KEYS ~= 3 or #ARGV ~= 3 then
  return redis.error_reply('ERR notice/revive.lua: wrong number of keys or arguments')
end
--@include moving

local notice, outbox, dead = KEYS[1], KEYS[2], KEYS[3]
local id, token = ARGV[2], ARGV[3]
--@include clock

local r = redis.call('HMGET', notice, 'z', 'e', 'g')
if r[3] == token then return {1, now} end
if r[1] ~= 'f' or tonumber(r[2]) ~= tonumber(redis.call('ZSCORE', dead, id) or -1) then return {0, now} end
redis.call('ZADD', outbox, now, id) -- first: a worker will check it, whatever it finds
redis.call('HSET', notice, 'g', token)
redis.call('PERSIST', notice)
redis.call('HDEL', notice, 'z', 'n', 'a', 'o', 'b', 'e', 'w', 't', 'c')
redis.call('ZREM', dead, id)
return {1, now}
