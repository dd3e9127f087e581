-- notice/purge.lua: removes the content of a failed alert.
--
-- If it is no longer a failed alert, only its entry is removed. The alert itself stays until it
-- expires, so that it is not added twice.
--
-- KEYS[1]  alert (HASH, see fragments/outbox.lua)
-- KEYS[2]  failed alerts of the partition (ZSET: alert id -> when it ended, Unix ms)
-- ARGV[1]  alert id
-- ARGV[2]  keep an alert that ended at this time or later, Unix ms; "" to keep none
--
-- Returns  {1} removed; {0} it stays, or was no failed alert.
-- Cost     O(log n) in the partition's failed alerts.

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
