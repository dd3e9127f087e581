-- settle.lua: records what became of a delivery.
--
-- Only the delivery that holds the message, by its nonce, may settle it; a
-- repeated call gives the same answer. A retry is a new generation at a new
-- time. A permanent failure frees the place: what was never delivered does not
-- count.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  watch list of the partition (ZSET: watch member -> when to look, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  generation of the task
-- ARGV[3]  nonce of this delivery
-- ARGV[4]  d delivered, f failed for good, p pending again: a retry
-- ARGV[5]  watch member of this generation
-- ARGV[6]  message id
-- ARGV[7]  how long an ended record is kept, ms
-- ARGV[8]  largest window of the rules and the grace, ms: a place is remembered so long
-- ARGV[9]  reason it was not delivered; the provider's id where it was; "" for none
-- ARGV[10] of a retry: the new generation
-- ARGV[11] of a retry: not before, Unix ms
-- ARGV[12] of a retry: watch member of the new generation
-- ARGV[13] of a retry: delay of the watch entry, ms
--
-- Returns  {1, now} recorded, now or by an earlier call of this delivery;
--          {0, now} superseded: another delivery has the message, or it ended.
-- Cost     O(log n) in the user's reservations and the partition's watch list.

if #KEYS ~= 3 or #ARGV ~= 9 and #ARGV ~= 13 then
  return redis.error_reply('ERR settle.lua: wrong number of keys or arguments')
end

local record, timeline, watch = KEYS[1], KEYS[2], KEYS[3]
-- clock: now, Unix ms: the server's, unless ARGV[1] gives another.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end
-- record: what is known of one message. A HASH of short names, since there
-- are as many as messages; a field that would be empty is absent.
--
--   g  generation: the token of the only task that may deliver it
--   s  state: s being sent, d delivered, c cancelled, x expired, f failed; absent
--      while the message is pending, as most are
--   t  send time, Unix ms
--   r  requested time, Unix ms, where it differs from the send time
--   h  1 if a shift chose the send time
--   m  the send time before the last move, Unix ms
--   f  fingerprint of the request
--   x  expiry the caller set, Unix ms
--   k  category
--   c  content, opaque here; erased when the message ends
--   n  deliveries tried
--   a  not before, Unix ms: when a retry is due
--   o  nonce of the delivery that holds or held it, or found it expired
--   u  when that delivery's lease ends, Unix ms
--   e  when it ended, Unix ms
--   w  why it ended so, a reason
--   i  the provider's id of the delivered message
--
-- A record has no expiry until the message ends: the watch list knows every
-- one that has not.
local PENDING, SENDING, DELIVERED = 'p', 's', 'd'
local CANCELLED, EXPIRED, FAILED = 'c', 'x', 'f'

-- state_of reads the state from the fields s and g; false where there is no
-- record.
local function state_of(s, g)
  return s or g and PENDING
end

-- Whether a message in this state has given its id back.
local function id_is_free(state)
  return not state or state == CANCELLED or state == EXPIRED or state == FAILED
end

local r = redis.call('HMGET', record, 's', 'g', 'o', 't')
if r[3] ~= ARGV[3] then return {0, now} end
if state_of(r[1], r[2]) ~= SENDING then return {1, now} end
if r[2] ~= ARGV[2] then return {0, now} end

redis.call('ZREM', watch, ARGV[5])
if ARGV[4] == PENDING then
  redis.call('HSET', record, 'g', ARGV[10], 'a', ARGV[11], 'w', ARGV[9])
  redis.call('HDEL', record, 's', 'u')
  redis.call('ZADD', watch, now + ARGV[13], ARGV[12])
  return {1, now}
end

redis.call('HSET', record, 's', ARGV[4], 'e', now)
if ARGV[9] ~= '' then redis.call('HSET', record, ARGV[4] == DELIVERED and 'i' or 'w', ARGV[9]) end
redis.call('HDEL', record, 'c', 'a', 'u')
local kept = tonumber(ARGV[7])
if ARGV[4] == DELIVERED then
  -- An id must be remembered while its place still counts.
  kept = math.max(kept, r[4] + ARGV[8] - now)
else
  redis.call('ZREM', timeline, ARGV[6])
end
redis.call('PEXPIRE', record, kept)
return {1, now}
