-- notice/revive.lua: puts a failed notice back into the outbox, with all its attempts.
--
-- KEYS[1]  notice (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: notice id -> when to look, Unix ms)
-- KEYS[3]  failed notices of the partition (ZSET: notice id -> when it ended, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  notice id
-- ARGV[3]  token of this call: a repeated call returns the first answer
--
-- Returns  {1, now} it is in the outbox; {0, now} it is no failed notice.
-- Cost     O(log n) in the partition's outbox and failed notices.

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
redis.call('ZADD', outbox, now, id) -- first: a worker looks at it, whatever it finds
redis.call('HSET', notice, 'g', token)
redis.call('PERSIST', notice)
redis.call('HDEL', notice, 'z', 'n', 'a', 'o', 'b', 'e', 'w', 't', 'c')
redis.call('ZREM', dead, id)
return {1, now}
