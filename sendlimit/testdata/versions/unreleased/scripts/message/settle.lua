-- settle.lua: records what became of a delivery.
--
-- Only the delivery that holds the message, by its nonce, may settle it; a
-- repeated call gives the same answer. It may be late: as long as nobody else
-- has claimed the message, what it says is what happened. A retry is a new
-- generation at a new time. A permanent failure frees the place: what was never
-- delivered does not count.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  watch list of the partition (ZSET: watch member -> when to look, Unix ms)
-- KEYS[4]  dead letters of the partition (ZSET: dead-letter member -> when it ended, Unix ms)
-- KEYS[5]  ended messages of the user without a place (ZSET: message id -> send time, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  nonce of this delivery
-- ARGV[3]  d delivered, f failed for good, u uncertain, p pending again: a retry
-- ARGV[4]  end of the watch member ("/id/user")
-- ARGV[5]  message id
-- ARGV[6]  how long an ended record is kept, ms
-- ARGV[7]  largest window of the rules and the grace, ms: a place is remembered so long
-- ARGV[8]  reason it was not delivered; the provider's id where it was; "" for none
-- ARGV[9]  when the delivery began, Unix ms; "" for now
-- ARGV[10] of a retry: the new generation
-- ARGV[11] of a retry: not before, Unix ms
-- ARGV[12] of a retry: delay of the watch entry, ms
-- ARGV[13] of a retry: 1 if the message may have arrived all the same, -1 if it was
--          not sent at all and the try does not count, else 0
--
-- Returns  {1, now} recorded, now or by an earlier call of this delivery;
--          {0, now} superseded: another delivery has the message, or it ended.
-- Cost     O(log n) in the user's reservations, the partition's watch list and
--          its dead letters.

if #KEYS ~= 5 or #ARGV ~= 9 and #ARGV ~= 13 then
  return redis.error_reply('ERR settle.lua: wrong number of keys or arguments')
end

local record, timeline, watch, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local outcome, suffix, reason = ARGV[3], ARGV[4], ARGV[8]
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
--   s  state: s being sent, d delivered, c cancelled, x dropped, f failed, u
--      uncertain; absent while the message is pending, as most are
--   t  send time, Unix ms
--   p  promised: the send time before the message was first postponed or sent
--      late, Unix ms, where it differs; never beside m
--   r  requested time, Unix ms, where it differs from the send time
--   h  1 if a shift chose the send time
--   m  the send time before the last move, Unix ms
--   f  fingerprint of the request
--   x  expiry the caller set, Unix ms
--   k  category; alone, of an uncertain dead letter that was purged: its place counts
--   c  content, opaque here; erased when the message ends, but for a dead letter,
--      which can be sent after all
--   n  deliveries tried
--   a  not before, Unix ms: when a retry is due
--   o  nonce of the delivery that holds or held it, or dropped it
--   u  when that delivery's lease ends, Unix ms
--   q  1 where a delivery before may have arrived, though nobody knows
--   b  since when it waits for an older late message of its user, Unix ms
--   e  when it ended, Unix ms; of a delivered one when its delivery began
--   w  why it ended so, is tried again or was postponed; of the last, "late" and
--      limit and window of the rule in the way, see fragments/policy.lua
--   i  the provider's id of the delivered message
--   y  what an account was charged under: account, attempt of the hold under which
--      it came to where it stands, attempts under which the id was given a place
--      before, latest first, other accounts' too; "." for none. Of every attempt
--      that it names the change was made.
--   z  1 where its place is with those that do not count ("x:" instead of "u:" in
--      the timeline's key)
--
-- A record has no expiry until the message ends: the watch list knows every
-- one that has not.
local PENDING, SENDING, DELIVERED = 'p', 's', 'd'
local CANCELLED, DROPPED, FAILED, UNCERTAIN = 'c', 'x', 'f', 'u'

-- state_of reads the state from the fields s and g; false where there is no
-- record.
local function state_of(s, g)
  return s or g and PENDING
end

-- Whether a message in this state has given its id back.
local function id_is_free(state)
  return not state or state == CANCELLED or state == DROPPED or state == FAILED
end

-- names says whether the field y names an attempt: then the change that it was
-- held for was made, whatever has become of the message since.
local function names(y, attempt)
  return y and attempt ~= '' and string.find(y .. ' ', ' ' .. attempt .. ' ', 1, true) ~= nil
end

-- account_of reads the account from the field y; "" for none.
local function account_of(y)
  local account = y and string.match(y, '^%S+')
  return account ~= '.' and account or ''
end
-- ended: keeps what gave its place back in the list of its user's messages.
--
-- An entry lasts about as long as the record it names: the next ones to be
-- written remove the first that are over, and the whole list expires with the
-- last of them. What is left of a message that was submitted anew is over, too.
local function note_ended(ended, record, id, at, kept)
  local records = string.sub(record, 1, #record - #id)
  local oldest = redis.call('ZRANGE', ended, 0, 1)
  for k = 1, #oldest do
    local other = oldest[k]
    local s = redis.call('HGET', records .. string.gsub(other, ':', '/'), 's')
    if not s or not id_is_free(s) then redis.call('ZREM', ended, other) end
  end
  redis.call('ZADD', ended, at, id)
  redis.call('PEXPIRE', ended, kept)
end
-- places: where the place of a message is: in the user's timeline; or beside it,
-- in a set of the same form, where its category is exempt and does not count.
-- Which of them, the record's field z says.
local beside = string.gsub(timeline, '^([^}]*}:)u:', '%1x:', 1)

-- remove_place takes a message's place away.
local function remove_place(message, was_beside)
  redis.call('ZREM', was_beside and beside or timeline, message)
end

-- put_place gives a message its place at `at`, in the timeline or beside it,
-- wherever it was before, and keeps its record so.
local function put_place(key, message, at, was_beside, is_beside)
  if is_beside and not was_beside then
    redis.call('ZREM', timeline, message)
    redis.call('HSET', key, 'z', 1)
  elseif was_beside and not is_beside then
    redis.call('ZREM', beside, message)
    redis.call('HDEL', key, 'z')
  end
  redis.call('ZADD', is_beside and beside or timeline, at, message)
end

local r = redis.call('HMGET', record, 's', 'g', 'o', 't', 'q', 'z')
if r[3] ~= ARGV[2] then return {0, now} end
if state_of(r[1], r[2]) ~= SENDING then return {1, now} end

if outcome == PENDING then
  redis.call('HSET', record, 'g', ARGV[10], 'a', ARGV[11], 'w', reason)
  redis.call('HDEL', record, 's', 'u')
  if ARGV[13] == '1' then redis.call('HSET', record, 'q', 1) end
  if ARGV[13] == '-1' then redis.call('HINCRBY', record, 'n', -1) end
  redis.call('ZREM', watch, r[2] .. suffix)
  redis.call('ZADD', watch, now + ARGV[12], ARGV[10] .. suffix)
  return {1, now}
end

-- What may have arrived before still counts.
if outcome == FAILED and r[5] then outcome = UNCERTAIN end
redis.call('HSET', record, 's', outcome, 'e', outcome == DELIVERED and tonumber(ARGV[9]) or now)
if reason ~= '' then redis.call('HSET', record, outcome == DELIVERED and 'i' or 'w', reason) end
redis.call('HDEL', record, 'a', 'u')
if outcome ~= DELIVERED then redis.call('HDEL', record, 'q') end
redis.call('ZREM', watch, r[2] .. suffix)
local kept = tonumber(ARGV[6])
if outcome == DELIVERED then
  -- A hash that has had a long value stays in its larger encoding: it is written
  -- anew, since there are as many of these as messages.
  local long = redis.call('HSTRLEN', record, 'c') > 64
  redis.call('HDEL', record, 'c')
  if long then
    local fields = redis.call('HGETALL', record)
    redis.call('DEL', record)
    redis.call('HSET', record, unpack(fields))
  end
else
  -- A dead letter keeps its content, since it can be sent after all.
  redis.call('ZADD', dead, now, string.sub(suffix, 2))
  redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - kept)
end
if outcome == FAILED then
  remove_place(ARGV[5], r[6])
  note_ended(KEYS[5], record, ARGV[5], r[4], kept)
else
  -- An id must be remembered while its place still counts.
  kept = math.max(kept, r[4] + ARGV[7] - now)
end
redis.call('PEXPIRE', record, kept)
return {1, now}
