-- message/purge.lua: removes a dead letter with its record.
--
-- If the message is no longer a dead letter (for example it was submitted again, or its record
-- expired), only its entry is removed.
--
-- An uncertain message keeps its place: it may have been sent. The field k stays in the record
-- until the record would have expired: it tells a refit, and a new message with the same id, which
-- category's set has the place, see fragments/former_place.lua. Scripts do not treat such a record
-- as a message.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  dead letters of the partition (ZSET: dead-letter member -> when it ended, Unix ms)
-- KEYS[3]  index of the ids, head, see fragments/found.lua (ZSET)
-- KEYS[4]  index of the ids, shard of the message (ZSET)
-- KEYS[5]  index of the campaigns, head (ZSET)
-- KEYS[6]  index of the campaigns, shard of the message (ZSET)
-- ARGV[1]  dead-letter member ("id/user")
-- ARGV[2]  keep a dead letter that ended at this time or later, Unix ms; "" to keep none
-- ARGV[3]  index member
--
-- Returns  {1} removed; {0} it stays, or was no dead letter.
-- Cost     O(log n) in the partition's dead letters.

if #KEYS ~= 6 or #ARGV ~= 3 then
  return redis.error_reply('ERR message/purge.lua: wrong number of keys or arguments')
end
--@include moving

local record, dead = KEYS[1], KEYS[2]
--@include record
--@include found

local r = redis.call('HMGET', record, 's', 'g', 'e', 'k')
local state = state_of(r[1], r[2])
local died = tonumber(redis.call('ZSCORE', dead, ARGV[1]) or -1)
local is_dead = (state == FAILED or state == UNCERTAIN) and tonumber(r[3]) == died
local forgotten = is_dead and died < (tonumber(ARGV[2]) or math.huge)
if forgotten then
  if state == UNCERTAIN and r[4] then
    local gone = {}
    for _, field in ipairs(redis.call('HKEYS', record)) do
      if field ~= 'k' then gone[#gone + 1] = field end
    end
    redis.call('HDEL', record, unpack(gone))
  else
    redis.call('DEL', record)
  end
  remove_found(KEYS[3], KEYS[4], ARGV[3])
  remove_found(KEYS[5], KEYS[6], ARGV[3])
end
if forgotten or not is_dead then redis.call('ZREM', dead, ARGV[1]) end
return {forgotten and 1 or 0}
