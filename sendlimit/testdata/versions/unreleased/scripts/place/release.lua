-- release.lua: gives a reservation back; with a record, cancels the message.
--
-- A message can be cancelled until it is being sent. Its content is erased at
-- once; its record stays for a while, so that cancelling twice is harmless.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[3]  watch list of the partition (ZSET: watch member -> when to look, Unix ms); with KEYS[2]
-- KEYS[4]  ended messages of the user without a place (ZSET: message id -> send time, Unix ms); with KEYS[2]
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  largest window of the rules and the grace, ms: what is older is forgotten
-- ARGV[4]  with KEYS[2]: end of the watch member ("/id/user")
-- ARGV[5]  with KEYS[2]: how long an ended record is kept, ms
-- ARGV[6]  with KEYS[2]: what an account is charged under, see fragments/hold.lua
-- ARGV[7]  with KEYS[2]: what bounds the release, see fragments/hold.lua
-- ARGV[8]  with KEYS[2]: with a charge, the attempt that the record has to name; "" for none
-- ARGV[9]  with KEYS[2]: with a charge, where it has to stand, Unix ms
--
-- Returns  {status, now, freed time, 0, flags, 0}, see fragments/decision.lua:
--          ALLOWED (REPLAYED if it was cancelled before), NOT_FOUND, TOO_LATE,
--          CHANGED or HOLD_OVER.
-- Cost     O(log n) in the user's reservations.

if not (#KEYS == 1 and #ARGV == 3 or #KEYS == 4 and #ARGV == 9) then
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
local SETTINGS_CHANGED, BLOCKED, QUIET_HOURS = 13, 14, 15
local SHIFTED, REPLAYED = 1, 2
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
local charge, bounds = ARGV[6] or '', ARGV[7] or ''
-- hold: what binds a change to the charge that an account bears for it.
--
--   charge   "account attempt", what the record's field y says once the change is
--            made; "" without a hold
--   bounds   until when the change may be made, before when its place must be and
--            where a shift searches from, three words: Unix ms, "." for none. ""
--            for none of them.
local HOLD_OVER, OUTSIDE_HOLD, CHANGED = 10, 11, 12
local not_after, place_before
for a, b in string.gmatch(bounds, '(%S+) (%S+) %S+') do
  not_after, place_before = tonumber(a), tonumber(b)
end

-- outside answers for a change that the hold does not cover, or gives nil.
local function outside(at)
  if now > (not_after or now) then return {HOLD_OVER, now, at, 0} end
  if at >= (place_before or math.huge) then return {OUTSIDE_HOLD, now, at, 0} end
end

-- attempt_in reads the present attempt from the field y; "" for none.
local function attempt_in(y)
  local attempt = y and string.match(y, '^%S+ (%S+)')
  return attempt ~= '.' and attempt or ''
end

-- charged_anew is the field y of a message that takes the id of one that ended,
-- whose attempts, in its field y, `former`, it keeps.
local MOST_FORMER = 8
local function charged_anew(former)
  local kept, y = 0, charge ~= '' and charge or '. .'
  for word in string.gmatch(former, ' (%S+)') do -- after the account
    if word ~= '.' and kept < MOST_FORMER then
      y, kept = y .. ' ' .. word, kept + 1
    end
  end
  return y
end

-- charged_on is the field y of a message that is moved or cancelled, from what it
-- was before. Its attempt was settled by the hold of this change; the older ones
-- may be another account's.
local function charged_on(before)
  local y, former = charge, string.match(before or '', '^%S+ %S+(.*)$') or ''
  return y .. former
end

-- is_as says whether a reservation at `stands` with the field y is the one that
-- the hold was made for. Without a hold it is one that nobody was charged for:
-- a charge changes together with what it is for, or not at all; and one at `from`,
-- "" for anywhere.
local function is_as(y, stands, former, from)
  if charge == '' then return attempt_in(y) == '' and (from == '' or stands == tonumber(from)) end
  return attempt_in(y) == former and stands == tonumber(from)
end

if not record then
  local held = tonumber(redis.call('ZSCORE', timeline, id) or -1)
  if held < now - ARGV[3] then return {NOT_FOUND, now, 0, 0} end
  redis.call('ZREM', timeline, id)
  return {ALLOWED, now, held, 0, 0, 0}
end

local r = redis.call('HMGET', record, 's', 'g', 't', 'y', 'z')
local state, stood = state_of(r[1], r[2]), tonumber(r[3])
-- Under the same attempt it is the same call, repeated by a client that got no
-- answer, though the id were another message's by now.
local same = names(r[4], attempt_in(charge))
if same or state == CANCELLED then return {ALLOWED, now, stood, 0, same and 0 or REPLAYED, 0} end
if id_is_free(state) then return {NOT_FOUND, now, 0, 0} end
if state ~= PENDING then return {TOO_LATE, now, stood, 0} end
if not is_as(r[4], stood, ARGV[8], ARGV[9]) then return {CHANGED, now, stood, 0} end
local answer = outside(stood)
if answer then return answer end

remove_place(id, r[5])
note_ended(KEYS[4], record, id, stood, ARGV[5])
redis.call('ZREM', watch, r[2] .. ARGV[4])
redis.call('HSET', record, 's', CANCELLED, 'e', now)
redis.call('HDEL', record, 'c', 'a')
if charge ~= '' then redis.call('HSET', record, 'y', charged_on(r[4])) end
redis.call('PEXPIRE', record, ARGV[5])
return {ALLOWED, now, stood, 0, 0, 0}
