-- message/settle.lua: records the outcome of a delivery.
--
-- Only the delivery that claimed the message last, by its nonce, may settle it. A
-- repeated call returns the same answer. The call may come after the lease: as long
-- as no other delivery has claimed the message, the outcome counts. A retry gives the
-- message a new generation and a time before which it is not tried. If the target only
-- asked for later, the attempt does not count. One that was not sent after all is pending
-- at its place, as before its claim. A permanent failure frees
-- the place, since only what was delivered counts.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  near list of the partition (ZSET: watch member -> when to look, Unix ms)
-- KEYS[4]  dead letters of the partition (ZSET: dead-letter member -> when it ended, Unix ms)
-- KEYS[5]  ended messages of the user without a place (ZSET: message id -> send time, Unix ms)
-- KEYS[6]  messages of the user that were late and wait (ZSET: message id -> when it was
--          promised, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  nonce of this delivery
-- ARGV[3]  d delivered, D the same and its content is kept, f failed for good, u uncertain,
--          p pending again: a retry
-- ARGV[4]  end of the watch member, see keyspace.WatchSuffix
-- ARGV[5]  message id
-- ARGV[6]  how long to keep the record of an ended message, ms
-- ARGV[7]  how long a place counts: largest window of the rules and the grace, ms
-- ARGV[8]  reason why it was not delivered, or the provider's id; "" for none
-- ARGV[9]  when the delivery began, Unix ms; "" for now
-- ARGV[10] whose events are noted, see fragments/event.lua; "" for nobody's
-- ARGV[11] of a retry: new generation
-- ARGV[12] of a retry: not before, Unix ms; not used if the message was not sent
-- ARGV[13] of a retry: delay of the watch entry, ms
-- ARGV[14] of a retry: 1 if the message may have arrived, -1 if it was not sent, -2 if the
--          target asked for later, else 0; a negative attempt does not count
-- ARGV[15] of a retry: expiry of a message that has none of its own, ms after its
--          promised time
-- ARGV[16] of a retry: horizon, ms: how long before its time a message is handed over
--
-- Returns  {1, now} recorded, by this call or an earlier one of this delivery;
--          {0, now} superseded: another delivery has the message, or it ended.
-- Cost     O(log n) in the user's reservations, the partition's watch list and its
--          dead letters.

if #KEYS ~= 6 or #ARGV ~= 10 and #ARGV ~= 16 then
  return redis.error_reply('ERR message/settle.lua: wrong number of keys or arguments')
end
--@include moving

local record, timeline, watch, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local outcome, suffix, reason, keeps_content = ARGV[3], ARGV[4], ARGV[8], ARGV[3] == 'D'
--@include clock
--@include record
--@include ended
--@include content
--@include metadata
--@include category
--@include places
--@include event
--@include history
if keeps_content then outcome = DELIVERED end

local r
if ARGV[10] == '' then
  r = redis.call('HMGET', record, 's', 'g', 'o', 't', 'q', 'z', 'k', 'a', 'p', 'x', 'n', 'c')
else
  r = redis.call('HMGET', record, 's', 'g', 'o', 't', 'q', 'z', 'k', 'a', 'p', 'x', 'n', 'c', 'y', 'C', 'M')
end
if r[3] ~= ARGV[2] then return {0, now} end
if state_of(r[1], r[2]) ~= SENDING then return {1, now} end

if outcome == PENDING then
  local look = now + ARGV[13]
  redis.call('HSET', record, 'g', ARGV[11], 'w', reason)
  redis.call('HDEL', record, 's', 'u', 'v', 'l')
  if ARGV[14] == '1' then redis.call('HSET', record, 'q', 1) end
  if tonumber(ARGV[14]) < 0 then redis.call('HINCRBY', record, 'n', -1) end
  if ARGV[14] == '-1' then
    if r[9] and not r[8] then -- it was late before: younger ones wait for it again
      local expires = tonumber(r[10]) or r[9] + ARGV[15]
      redis.call('ZADD', KEYS[6], r[9], ARGV[5])
      if redis.call('PEXPIRETIME', KEYS[6]) < expires then redis.call('PEXPIREAT', KEYS[6], expires) end
    end
  else
    redis.call('HSET', record, 'a', ARGV[12])
    note_history(record, 'r', {to = tonumber(ARGV[12]), attempt = tonumber(r[11]), reason = reason})
    look = math.max(look, ARGV[12] - ARGV[16])
  end
  redis.call('ZREM', watch, r[2] .. suffix)
  redis.call('ZADD', watch, look, ARGV[11] .. suffix)
  return {1, now}
end

-- A message that may have arrived before still counts.
if outcome == FAILED and r[5] then outcome = UNCERTAIN end
local ended = outcome == DELIVERED and tonumber(ARGV[9]) or now
if reason == '' then
  redis.call('HSET', record, 's', outcome, 'e', ended)
else
  redis.call('HSET', record, 's', outcome, 'e', ended, outcome == DELIVERED and 'i' or 'w', reason)
end
if ARGV[10] ~= '' then
  local what = outcome == DELIVERED and 'delivered' or outcome == FAILED and 'failed' or 'uncertain'
  note_event(ARGV[10], record, {r[13], r[11], r[14], r[15]}, string.match(timeline, '^[^}]*}:u:(.*)$'), ARGV[5], what,
    r[4], nil, reason)
end
redis.call('ZREM', watch, r[2] .. suffix)
local kept = tonumber(ARGV[6])
if keeps_content then
  redis.call('HDEL', record, 'a', 'u', 'v', 'l')
elseif outcome == DELIVERED then
  local long = r[12] and #r[12] > 64
  erase_content(record, {'a', 'u', 'v', 'l'})
  if long then write_anew(record) end
else
  -- A dead letter keeps its content, since it can be sent after all.
  redis.call('HDEL', record, 'a', 'u', 'v', 'l', 'q')
  redis.call('ZADD', dead, now, table.concat({ARGV[5], '/', string.match(timeline, '^[^}]*}:u:(.*)$')}))
  redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - kept)
end
if outcome == FAILED then
  remove_place(ARGV[5], r[6], r[7])
  note_ended(KEYS[5], record, ARGV[5], r[4], kept)
else
  -- An id must be remembered while its place still counts.
  kept = math.max(kept, r[4] + ARGV[7] - now)
end
redis.call('PEXPIRE', record, kept)
return {1, now}
