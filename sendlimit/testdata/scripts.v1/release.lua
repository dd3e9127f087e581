-- release.lua: gives a reservation back; with a record, cancels the message.
--
-- A message can be cancelled until it is being sent. Its content is erased at
-- once; its record stays for a while, so that cancelling twice is harmless.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[3]  watch list of the partition (ZSET: watch member -> when to look, Unix ms); with KEYS[2]
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  largest window of the rules and the grace, ms: what is older is forgotten
-- ARGV[4]  with KEYS[2]: end of the watch member ("/id/user")
-- ARGV[5]  with KEYS[2]: how long an ended record is kept, ms
--
-- Returns  {status, now, freed time, 0, flags, 0}, see fragments/decision.lua:
--          ALLOWED (REPLAYED if it was cancelled before), NOT_FOUND or TOO_LATE.
-- Cost     O(log n) in the user's reservations.

if not (#KEYS == 1 and #ARGV == 3 or #KEYS == 3 and #ARGV == 5) then
  return redis.error_reply('ERR release.lua: wrong number of keys or arguments')
end

local timeline, record, watch = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[2]
-- clock: now, Unix ms: the server's, unless ARGV[1] gives another.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end
-- status: the first element of a decision, and the flags of an accepted one.
local ALLOWED, SEND_LIMIT, ID_REUSED, TOO_LATE = 0, 1, 2, 3
local NOT_FOUND, IN_PAST, TOO_FAR_AHEAD, SEARCH_ON = 4, 5, 6, 7
local SHIFTED, REPLAYED = 1, 2
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

if not record then
  local held = tonumber(redis.call('ZSCORE', timeline, id) or -1)
  if held < now - ARGV[3] then return {NOT_FOUND, now, 0, 0} end
  redis.call('ZREM', timeline, id)
  return {ALLOWED, now, held, 0, 0, 0}
end

local r = redis.call('HMGET', record, 's', 'g', 't')
local state, stood = state_of(r[1], r[2]), tonumber(r[3])
if state == CANCELLED then return {ALLOWED, now, stood, 0, REPLAYED, 0} end
if id_is_free(state) then return {NOT_FOUND, now, 0, 0} end
if state ~= PENDING then return {TOO_LATE, now, stood, 0} end

redis.call('ZREM', timeline, id)
redis.call('ZREM', watch, r[2] .. ARGV[4])
redis.call('HSET', record, 's', CANCELLED, 'e', now)
redis.call('HDEL', record, 'c', 'a')
redis.call('PEXPIRE', record, ARGV[5])
return {ALLOWED, now, stood, 0, 0, 0}
