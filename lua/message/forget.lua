-- message/forget.lua: removes an entry of the index whose message is gone.
--
-- The message may have been submitted anew since somebody found it gone: then the entry
-- stays.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  list of the index, see fragments/found.lua (ZSET)
-- ARGV[1]  field that the record of every message in the list has
-- ARGV[2]  member in the list
--
-- Returns  {1} removed; {0} the message is there, or the entry was not.
-- Cost     O(log n) in the entries of the list.

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR message/forget.lua: wrong number of keys or arguments')
end
--@include moving

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return {0} end
return {redis.call('ZREM', KEYS[2], ARGV[2])}
