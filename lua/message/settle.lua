-- message/settle.lua: records the outcome of a delivery.
--
-- Only the last delivery that claimed the message, by its nonce, may settle it. A repeated call
-- returns the same answer. The call may come after the lease: as long as no other delivery has
-- claimed the message, the outcome counts. A retry gives the message a new generation and a time
-- before which it is not tried. If the target only asked to try later, the attempt does not count.
-- A message that was not sent after all is pending at its place, as before its claim. A permanent
-- failure frees the place, and so does a user without a device: only delivered messages count. A
-- message that has reached a device counts as delivered, whatever the other devices answered. A
-- message that may have reached one may have arrived.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  near list of the partition (ZSET: watch member -> when to check, Unix ms)
-- KEYS[4]  dead letters of the partition (ZSET: dead-letter member -> when it ended, Unix ms)
-- KEYS[5]  ended messages of the user without a place (ZSET: message id -> send time, Unix ms)
-- KEYS[6]  late messages of the user that wait (ZSET: see fragments/waiting.lua -> promised time,
--          Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  nonce of this delivery
-- ARGV[3]  d delivered, f failed for good, u uncertain, n dropped, as the user has no device
--          for it, p pending again: a retry. A capital letter keeps the content of a message
--          that ends as delivered
-- ARGV[4]  end of the watch member, see keyspace.WatchSuffix
-- ARGV[5]  message id
-- ARGV[6]  how long to keep the record of an ended message, ms
-- ARGV[7]  how long a place counts: largest window of the rules and the grace, ms
-- ARGV[8]  reason why it was not delivered, followed by a space and the provider's words if it
--          failed or is uncertain; or the provider's id; "" for none
-- ARGV[9]  when the delivery began, Unix ms; "" for now
-- ARGV[10] accounts with listeners, see fragments/event.lua; "" for none
-- ARGV[11] outcomes on devices, see fragments/progress.lua; "" for no new ones
-- ARGV[12] of a retry: new generation
-- ARGV[13] of a retry: not before, Unix ms, or before its expiry; if the message was not sent, now
--          by the caller's clock, or ""
-- ARGV[14] of a retry: delay of the watch entry, ms
-- ARGV[15] of a retry: 1 if the message may have arrived, -1 if it was not sent, -2 if the
--          target asked to try later, else 0; a negative attempt does not count
-- ARGV[16] of a retry: expiry of a message without its own, ms after its promised time
-- ARGV[17] of a retry: horizon, ms: how long before its time a message is handed over
--
-- Returns  {1, now} recorded, by this call or an earlier one of this delivery;
--          {0, now} superseded: another delivery has the message, or it ended.
-- Cost     O(log n) in the user's reservations, the partition's watch list and its
--          dead letters.

if #KEYS ~= 6 or #ARGV ~= 11 and #ARGV ~= 17 then
  return redis.error_reply('ERR message/settle.lua: wrong number of keys or arguments')
end
--@include moving

local record, timeline, watch, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local outcome, suffix, reason = string.lower(ARGV[3]), ARGV[4], ARGV[8]
local keeps_content = outcome ~= ARGV[3]
--@include clock
--@include record
--@include progress
--@include ended
--@include dead
--@include content
--@include metadata
--@include judge/category
--@include places
--@include event
--@include history
--@include waiting
if outcome == 'n' then outcome = DROPPED end

local r
if ARGV[10] == '' then
  r = redis.call('HMGET', record, 's', 'g', 'o', 't', 'q', 'z', 'k', 'a', 'p', 'x', 'n', 'c', 'D')
else
  r = redis.call('HMGET', record, 's', 'g', 'o', 't', 'q', 'z', 'k', 'a', 'p', 'x', 'n', 'c', 'D', 'y', 'C', 'M',
    'W', 'r')
end
if r[3] ~= ARGV[2] then return {0, now} end
if state_of(r[1], r[2]) ~= SENDING then return {1, now} end
local progress = ARGV[11] ~= '' and ARGV[11] or r[13]
local reached = has_reached(progress)
local in_doubt = r[5] or not reached and string.find(table.concat({' ', progress or ''}), ' u', 1, true)

if ARGV[11] ~= '' then redis.call('HSET', record, 'D', progress) end
if outcome == PENDING then
  -- The new watch entry first, the former one last: if the log is torn in between, one of them is
  -- there.
  local again = ARGV[15] ~= '-1' and math.min(ARGV[13], r[10] or (r[9] or r[4]) + ARGV[16])
  local look = math.min(now, tonumber(ARGV[13]) or now) + ARGV[14] -- the clock may be ahead for a moment
  if again then look = math.max(look, again - ARGV[17]) end
  redis.call('ZADD', watch, look, ARGV[12] .. suffix)
  if ARGV[15] == '1' or in_doubt then
    redis.call('HSET', record, 'g', ARGV[12], 'w', reason, 'q', 1)
  else
    redis.call('HSET', record, 'g', ARGV[12], 'w', reason)
  end
  if again then redis.call('HSET', record, 'a', again) end
  redis.call('HDEL', record, 's', 'u', 'v', 'l')
  if tonumber(ARGV[15]) < 0 then redis.call('HINCRBY', record, 'n', -1) end
  if ARGV[15] == '-1' then
    if r[9] and not r[8] and not reached then -- it was late before: younger ones wait for it again
      local expires = tonumber(r[10]) or r[9] + ARGV[16]
      redis.call('ZADD', KEYS[6], r[9], waiting_member(ARGV[5], r[7]))
      if redis.call('PEXPIRETIME', KEYS[6]) < expires then redis.call('PEXPIREAT', KEYS[6], expires) end
    end
  else
    note_history(record, 'r', {to = again, attempt = tonumber(r[11]), reason = reason})
  end
  redis.call('ZREM', watch, r[2] .. suffix)
  return {1, now}
end

local named = outcome == DELIVERED -- by the provider's id; else `reason` is why it was not delivered
local words = ''
if not named then reason, words = string.match(reason, '^(%S*) ?(.*)$') end
if reached then
  outcome = DELIVERED
elseif (outcome == FAILED or outcome == DROPPED) and in_doubt then
  outcome = UNCERTAIN -- a message that may have arrived still counts
end
local ended = outcome == DELIVERED and tonumber(ARGV[9]) or now
if reason == '' then
  redis.call('HSET', record, 's', outcome, 'e', ended)
else
  redis.call('HSET', record, 's', outcome, 'e', ended, named and 'i' or 'w', reason)
end
if words ~= '' and (outcome == FAILED or outcome == UNCERTAIN) then redis.call('HSET', record, 'i', words) end
local kept = tonumber(ARGV[6])
if outcome == DELIVERED and keeps_content then
  redis.call('HDEL', record, 'a', 'u', 'v', 'l')
elseif outcome == DELIVERED or outcome == DROPPED then
  local long = r[12] and #r[12] > 64
  erase_content(record, {'a', 'u', 'v', 'l'})
  if long then write_anew(record) end
else
  -- A dead letter keeps its content, since it can be sent after all.
  redis.call('HDEL', record, 'a', 'u', 'v', 'l', 'q')
  note_dead(dead, table.concat({ARGV[5], '/', string.match(timeline, '^[^}]*}:u:(.*)$')}), kept)
end
if outcome == FAILED or outcome == DROPPED then
  remove_place(ARGV[5], r[6], r[7])
  note_ended(KEYS[5], record, ARGV[5], r[4], kept)
else
  -- An id must be remembered while its place still counts.
  kept = math.max(kept, r[4] + ARGV[7] - now)
end
redis.call('PEXPIRE', record, kept)
if ARGV[10] ~= '' then
  local types = {[DELIVERED] = 'delivered', [DROPPED] = 'dropped', [FAILED] = 'failed', [UNCERTAIN] = 'uncertain'}
  note_event(ARGV[10], record, {r[14], r[11], r[15], r[16], r[17], r[18]},
    string.match(timeline, '^[^}]*}:u:(.*)$'), ARGV[5], types[outcome],
    r[4], nil, (named or outcome ~= DELIVERED) and reason or '')
end
redis.call('ZREM', watch, r[2] .. suffix) -- last, see message/mend.lua
return {1, now}
