-- message/refile.lua: gives the entry of a message in the index the score of its campaign.
--
-- A torn log may have the score that a replacement of the message writes, and not the new record.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  part of the index with the entry, see fragments/found.lua (ZSET)
-- ARGV[1]  campaign of the message, as the caller has read it
-- ARGV[2]  charge of the message (field y), as the caller has read it; "" for none
-- ARGV[3]  score of that campaign and the charged account
-- ARGV[4]  member in the part
--
-- Returns  {1} done; {0} the message changed meanwhile, or the entry does not exist.
-- Cost     O(log n) in the entries of the part.

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR message/refile.lua: wrong number of keys or arguments')
end
--@include moving

local r = redis.call('HMGET', KEYS[1], 'C', 'y')
if r[1] ~= ARGV[1] or (r[2] or '') ~= ARGV[2] then return {0} end
return {redis.call('ZADD', KEYS[2], 'XX', 'CH', ARGV[3], ARGV[4])}
