-- notice_put.lua: puts a notice into the outbox, once for each id.
--
-- An id that was there before is answered with 0 as long as what is known of it
-- is kept, however it ended: nothing is said twice.
--
-- KEYS[1]  notice (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: notice id -> when to look, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  notice id
-- ARGV[3]  kind
-- ARGV[4]  subject: a user, an account or a policy
-- ARGV[5]  what it is about begins then, Unix ms
-- ARGV[6]  details, opaque here
--
-- Returns  {1, now} put, {0, now} it was there.
-- Cost     O(log n) in the partition's outbox.

if #KEYS ~= 2 or #ARGV ~= 6 then
  return redis.error_reply('ERR notice_put.lua: wrong number of keys or arguments')
end

local id = ARGV[2]
--@include clock
--@include notice

if redis.call('EXISTS', KEYS[1]) == 1 then return {0, now} end
local prefix = string.sub(KEYS[2], 1, #KEYS[2] - #'notices')
put_notice(prefix, id, 'k', ARGV[3], 's', ARGV[4], 'd', ARGV[5], 'x', ARGV[6])
return {1, now}
