-- message/resume.lua: allows a message of a resumed campaign to be claimed again.
--
-- It gets a new generation, and is due: the next claim judges it as late. Any other message does
-- not change.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  new generation
-- ARGV[3]  watch word, see fragments/watch.lua
--
-- Returns  {1, now} resumed, by this call or an earlier one with this generation;
--          {0, now} it does not wait for its campaign.
-- Cost     O(log n) in the partition's watch list.

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR message/resume.lua: wrong number of keys or arguments')
end
--@include moving

local record, generation = KEYS[1], ARGV[2]
local letter, suffix = string.sub(ARGV[3], 1, 1), string.sub(ARGV[3], 2)
--@include clock
--@include record
--@include watch
--@include history

local r = redis.call('HMGET', record, 's', 'g', 'w')
if r[2] == generation then return {1, now} end
if state_of(r[1], r[2]) ~= PENDING or r[3] ~= 'paused' then return {0, now} end
redis.call('ZADD', prefix .. 'watch', now, generation .. suffix)
redis.call('HSET', record, 'g', generation)
redis.call('HDEL', record, 'a', 'w')
note_history(record, 'g', {})
remove_entry(letter, r[2] .. suffix)
return {1, now}
