-- claim.lua: the gate a message passes just before its delivery.
--
-- Only the pending record's own generation may deliver; the answer to every
-- other task is stale. The nonce makes a repeated call give the same answer,
-- and the lease gives the message to another worker when this one dies: the
-- outcome of the first try is then uncertain, and it is sent again.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  watch list of the partition (ZSET: watch member -> when to look, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  generation of the task
-- ARGV[3]  nonce of this delivery
-- ARGV[4]  lease of this delivery, ms
-- ARGV[5]  watch member of this generation
-- ARGV[6]  message id
-- ARGV[7]  how long an ended record is kept, ms
-- ARGV[8]  expiry of a message that has none of its own, ms after its send time
--
-- Returns  {SEND, now, send time, requested time or 0, tries with this one, category, content}
--          {STALE, now}                another generation, or ended: nothing to do
--          {BUSY, now, lease end}      another worker is sending it
--          {EARLY, now, due}           not yet due
--          {LAPSED, now, send time}    past its expiry: dropped, its place freed
-- Cost     O(log n) in the user's reservations and the partition's watch list.

if #KEYS ~= 3 or #ARGV ~= 8 then
  return redis.error_reply('ERR claim.lua: wrong number of keys or arguments')
end

local record, timeline, watch = KEYS[1], KEYS[2], KEYS[3]
local SEND, STALE, BUSY, EARLY, LAPSED = 0, 1, 2, 3, 4
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

local r = redis.call('HMGET', record, 's', 'g', 't', 'n', 'o', 'u', 'a', 'x', 'r', 'k', 'c')
local state, at, tries = state_of(r[1], r[2]), tonumber(r[3]), tonumber(r[4] or 0)
if r[2] == ARGV[2] and state == EXPIRED and r[5] == ARGV[3] then return {LAPSED, now, at} end
if r[2] ~= ARGV[2] or state ~= PENDING and state ~= SENDING then return {STALE, now} end

local function send(try)
  return {SEND, now, at, tonumber(r[9] or 0), try, r[10] or '', r[11] or ''}
end

if state == SENDING then
  if r[5] == ARGV[3] then return send(tries) end
  if now < tonumber(r[6]) then return {BUSY, now, tonumber(r[6])} end
end
local due = tonumber(r[7] or at)
if now < due then return {EARLY, now, due} end

if now >= (tonumber(r[8]) or at + ARGV[8]) then
  redis.call('ZREM', timeline, ARGV[6])
  redis.call('ZREM', watch, ARGV[5])
  redis.call('HSET', record, 's', EXPIRED, 'o', ARGV[3], 'e', now)
  redis.call('HDEL', record, 'c', 'a', 'u')
  redis.call('PEXPIRE', record, ARGV[7])
  return {LAPSED, now, at}
end

local lease_end = now + ARGV[4]
redis.call('HSET', record, 's', SENDING, 'o', ARGV[3], 'u', lease_end, 'n', tries + 1)
redis.call('ZADD', watch, lease_end, ARGV[5])
return send(tries + 1)
