-- notice/put.lua: puts an alert into the outbox, once for each id.
--
-- A known id is answered with 0 as long as the store keeps the alert, however it ended: no alert is
-- sent twice.
--
-- KEYS[1]  alert (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: alert id -> when to check, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  alert id
-- ARGV[3]  kind
-- ARGV[4]  subject: a user, an account or a policy
-- ARGV[5]  begin of its period, Unix ms
-- ARGV[6]  details, opaque here
--
-- Returns  {1, now} put; {0, now} the id is known.
-- Cost     O(log n) in the partition's outbox.

if #KEYS ~= 2 or #ARGV ~= 6 then
  return redis.error_reply('ERR notice/put.lua: wrong number of keys or arguments')
end
--@include moving

local id = ARGV[2]
--@include clock
--@include notice

if redis.call('EXISTS', KEYS[1]) == 1 then return {0, now} end
local prefix = string.sub(KEYS[2], 1, #KEYS[2] - #'notices')
put_notice(prefix, id, 'k', ARGV[3], 's', ARGV[4], 'd', ARGV[5], 'x', ARGV[6])
return {1, now}
