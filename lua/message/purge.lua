-- purge.lua: forgets a dead letter with its record; or just its entry, where the
-- message is a dead letter no longer: it was submitted anew, say, or has expired.
--
-- The place of an uncertain message stays: it may have been sent. For the rules of
-- its category, so does the field k of its record, alone, as long as the record
-- would have: nothing takes that for a message.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  dead letters of the partition (ZSET: dead-letter member -> when it ended, Unix ms)
-- ARGV[1]  dead-letter member ("id/user")
-- ARGV[2]  a dead letter that ended at this time or later stays, Unix ms; "" for none
--
-- Returns  {1} forgotten, {0} it stays, or was none.
-- Cost     O(log n) in the partition's dead letters.

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR purge.lua: wrong number of keys or arguments')
end

local record, dead = KEYS[1], KEYS[2]
--@include record

local r = redis.call('HMGET', record, 's', 'g', 'e', 'k')
local state = state_of(r[1], r[2])
local died = tonumber(redis.call('ZSCORE', dead, ARGV[1]) or -1)
local is_dead = (state == FAILED or state == UNCERTAIN) and tonumber(r[3]) == died
local forgotten = is_dead and died < (tonumber(ARGV[2]) or math.huge)
if forgotten then
  local expires = redis.call('PEXPIRETIME', record)
  redis.call('DEL', record)
  if state == UNCERTAIN and r[4] and expires > 0 then
    redis.call('HSET', record, 'k', r[4])
    redis.call('PEXPIREAT', record, expires)
  end
end
if forgotten or not is_dead then redis.call('ZREM', dead, ARGV[1]) end
return {forgotten and 1 or 0}
