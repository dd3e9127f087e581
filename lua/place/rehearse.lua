-- place/rehearse.lua: copies a user's timeline and a record for a dry run.
--
-- The dry run judges on the copies: what it judged before counts, and nothing real
-- changes.
--
-- KEYS[1]  timeline of the user (ZSET)
-- KEYS[2]  its copy
-- KEYS[3]  record of the message (HASH)
-- KEYS[4]  its copy
-- KEYS[5]  watch list of the copies
-- KEYS[6]  copies in the partition, to be removed (SET of keys)
-- KEYS[7]  places beside the copied timeline, see fragments/places.lua; the real ones
--          are not copied, since they do not count
-- KEYS[8]  set of the message's category, see fragments/category.lua (ZSET); optional
-- KEYS[9]  its copy; with KEYS[8]
-- ARGV[1]  how long copies stay after their last use if they are not removed, ms
--
-- Returns  1
-- Cost     O(n) in the user's reservations for the first call of a user, then O(1).

if #KEYS ~= 7 and #KEYS ~= 9 or #ARGV ~= 1 then
  return redis.error_reply('ERR place/rehearse.lua: wrong number of keys or arguments')
end
--@include moving

if redis.call('SADD', KEYS[6], KEYS[2]) == 1 then redis.call('COPY', KEYS[1], KEYS[2]) end
if redis.call('SADD', KEYS[6], KEYS[4]) == 1 then redis.call('COPY', KEYS[3], KEYS[4]) end
if KEYS[8] and redis.call('SADD', KEYS[6], KEYS[9]) == 1 then redis.call('COPY', KEYS[8], KEYS[9]) end
redis.call('SADD', KEYS[6], KEYS[5], KEYS[7])
for _, key in ipairs({KEYS[2], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[9]}) do redis.call('PEXPIRE', key, ARGV[1]) end
return 1
