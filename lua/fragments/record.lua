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
