-- notice/purge.lua: removes the content of a failed notice.
--
-- If it is no longer a failed notice, only its entry is removed. The notice itself
-- stays until it expires, so that it is not put a second time.
--
-- KEYS[1]  notice (HASH, see fragments/outbox.lua)
-- KEYS[2]  failed notices of the partition (ZSET: notice id -> when it ended, Unix ms)
-- ARGV[1]  notice id
-- ARGV[2]  keep a notice that ended at this time or later, Unix ms; "" to keep none
--
-- Returns  {1} removed; {0} it stays, or was no failed notice.
-- Cost     O(log n) in the partition's failed notices.

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR notice/purge.lua: wrong number of keys or arguments')
end
--@include moving

local notice, dead = KEYS[1], KEYS[2]

local r = redis.call('HMGET', notice, 'z', 'e')
local died = tonumber(redis.call('ZSCORE', dead, ARGV[1]) or -1)
local is_dead = r[1] == 'f' and tonumber(r[2]) == died
local forgotten = is_dead and died < (tonumber(ARGV[2]) or math.huge)
if forgotten then
  redis.call('HSET', notice, 'z', 'x', 'w', 'purged')
  redis.call('HDEL', notice, 's', 'd', 'h', 'u', 'l', 'x', 'n', 'o', 'b', 'g', 't', 'c')
end
if forgotten or not is_dead then redis.call('ZREM', dead, ARGV[1]) end
return {forgotten and 1 or 0}
