-- renew.lua: looks after a message whose time to be looked after has come.
--
-- A message that the queue may not have gets a new generation, so that a task
-- of the former one does no harm should it turn up; so does one that a worker
-- left in the middle of a delivery, which the gate then judges.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  watch list of the partition (ZSET: watch member -> when to look, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  generation of the watch entry
-- ARGV[3]  end of the watch member ("/id/user")
-- ARGV[4]  new generation
-- ARGV[5]  1 if the queue has a task of the generation that is going to run, else 0
-- ARGV[6]  delay of the watch entry of a new generation, ms
-- ARGV[7]  of a message that the queue has: how long after it is due, or after now
--          where that is past, somebody looks again, ms
--
-- Returns  {RENEWED, now, due}     its new generation is to be handed to the queue
--          {GONE, now}             ended or of another generation: there is nothing to do
--          {DEFERRED, now}         in good hands: somebody looks again later
--          {NOT_DUE, now}          nobody has to look yet
-- Cost     O(log n) in the partition's watch list.

if #KEYS ~= 2 or #ARGV ~= 7 then
  return redis.error_reply('ERR renew.lua: wrong number of keys or arguments')
end

local record, watch = KEYS[1], KEYS[2]
local member, new = ARGV[2] .. ARGV[3], ARGV[4]
local RENEWED, GONE, DEFERRED, NOT_DUE = 0, 1, 2, 3
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

local r = redis.call('HMGET', record, 's', 'g', 't', 'a', 'u')
local state = state_of(r[1], r[2])
local open = state == PENDING or state == SENDING
local due = state == PENDING and tonumber(r[4] or r[3]) or now
if open and r[2] == new then return {RENEWED, now, due} end -- the same call, repeated
if not open or r[2] ~= ARGV[2] then
  redis.call('ZREM', watch, member)
  return {GONE, now}
end

local look = tonumber(redis.call('ZSCORE', watch, member) or now)
if look > now then return {NOT_DUE, now} end
if state == SENDING and now < tonumber(r[5]) then
  redis.call('ZADD', watch, r[5], member)
  return {DEFERRED, now}
end
if state == PENDING and ARGV[5] == '1' then
  redis.call('ZADD', watch, math.max(now, due) + ARGV[7], member)
  return {DEFERRED, now}
end

redis.call('HSET', record, 'g', new)
redis.call('ZREM', watch, member)
redis.call('ZADD', watch, now + ARGV[6], new .. ARGV[3])
return {RENEWED, now, due}
