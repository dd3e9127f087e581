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
-- ARGV[1]  dead-letter member ("id/user")
-- ARGV[2]  keep a dead letter that ended at this time or later, Unix ms; "" to keep none
-- ARGV[3]  watch word, see fragments/watch.lua
--
-- Returns  {1} removed; {0} it stays, or was no dead letter.
-- Cost     O(log n) in the partition's dead letters.

if #KEYS ~= 2 or #ARGV ~= 3 then
  return redis.error_reply('ERR message/purge.lua: wrong number of keys or arguments')
end
--@include moving

local record, dead = KEYS[1], KEYS[2]
--@include record
--@include remove_found

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
  for _, list in ipairs({'ids', 'camps'}) do remove_found(list, string.sub(ARGV[3], 1, 1), string.sub(ARGV[3], 2)) end
end
if forgotten or not is_dead then redis.call('ZREM', dead, ARGV[1]) end
return {forgotten and 1 or 0}
