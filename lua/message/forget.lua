-- message/forget.lua: removes an entry of the index whose message is gone, or has another entry in
-- the head.
--
-- If the message was submitted again since it was found gone, the entry stays. A message that is
-- accepted again may get its entry in the head while a stale one is in its shard.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  part of the index with the entry, see fragments/found.lua (ZSET)
-- KEYS[3]  head before that part (ZSET); KEYS[2] if that is a head or has none
-- ARGV[1]  a field that the record of every message in the part has
-- ARGV[2]  member in the part
--
-- Returns  {1} removed; {0} the message exists and has no other entry, or this entry does not exist.
-- Cost     O(log n) in the entries of the part.

if #KEYS ~= 3 or #ARGV ~= 2 then
  return redis.error_reply('ERR message/forget.lua: wrong number of keys or arguments')
end
--@include moving

-- With another score, the entry in the head may belong to a former campaign.
local twice = KEYS[2] ~= KEYS[3]
  and redis.call('ZSCORE', KEYS[3], ARGV[2]) == redis.call('ZSCORE', KEYS[2], ARGV[2])
if not twice and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return {0} end
return {redis.call('ZREM', KEYS[2], ARGV[2])}
