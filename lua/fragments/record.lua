-- record: the record of a message, a HASH. There are as many records as messages, so a field's name
-- is one letter, and an empty field is absent.
--
--   g  generation: token of the only task that may deliver the message
--   s  state: s being sent, d delivered, c cancelled, x dropped, f failed, u
--      uncertain; absent while the message is pending
--   t  send time, Unix ms
--   p  promised: the send time before the message was first postponed or sent
--      late, Unix ms, if it differs; a move removes it
--   r  requested time, Unix ms, if it differs from the send time
--   h  1 if a shift chose the send time
--   m  the send time before the last move, Unix ms
--   d  begin of the minute in which moves are counted, Unix ms: its first move, see
--      fragments/moves.lua
--   j  moves made in that minute
--   f  fingerprint of the request
--   X  1 if the request replaced a message
--   E  1 if its caller moved or edited the message since the request
--   x  expiry that the caller set, Unix ms
--   k  category. The only field after an uncertain dead letter was purged, or for the place
--      of a cancelled message that may have arrived: the place still counts
--   c  content, opaque here; erased when the message ends, except of a dead letter, which can
--      be sent after all, and of a delivered message if a setting keeps it. Content of 65 to
--      512 bytes continues in the fields 1 to 7, see fragments/content.lua
--   n  deliveries tried
--   a  not before, Unix ms: when a retry is due, or when a waiting message is judged again
--   o  nonce of the last delivery that claimed or dropped it
--   u  end of that delivery's lease, Unix ms
--   v  looks at it since that lease ended
--   l  time of the last of these looks, Unix ms
--   q  1 if an earlier delivery may have arrived
--   b  since when it waits for an older late message of its user, Unix ms
--   e  when it ended, Unix ms; if delivered, when its delivery began
--   w  why it ended, is tried again or was postponed. If postponed: "late" with limit and
--      window of the rule that postponed it, see judge/rules.lua
--   i  the provider's id of a delivered message; the provider's reason of a failed or uncertain
--      one
--   y  charge: account, the attempt of the hold that charged its place, and attempts of earlier
--      places of the id, latest first, also of other accounts; "." for none. The change of each
--      of these attempts was made. An attempt names what it charged.
--   z  1 if its place is beside the timeline, see fragments/places.lua
--   C  campaign
--   M  metadata, opaque here; kept when the message ends. Metadata of 65 to 512 bytes continues
--      in the fields N to T, like content in 1 to 7
--   D  outcomes on devices that are done, see fragments/progress.lua; absent for none. It stays
--      while the message is tried again and when it ends
--   A  when it was accepted, Unix ms
--   L  the trace of the submit, opaque here; absent unless it was sampled. Deliveries link to it
--   W  how its send time was read from a local time, or its window; opaque here, unless the message
--      keeps the local time: see fragments/other_zone.lua. A move without a reason removes it
--   H  number of recorded changes; the last 16 are in the fields h0 to hf, see
--      fragments/history.lua
--
-- A record does not expire before the message ends: until then the watch list has an entry for it.
local PENDING, SENDING, DELIVERED = 'p', 's', 'd'
local CANCELLED, DROPPED, FAILED, UNCERTAIN = 'c', 'x', 'f', 'u'

-- state_of reads the state from the fields s and g; false without a record.
local function state_of(s, g)
  return s or g and PENDING
end

-- id_is_free reports whether a message in this state has given its id back.
local function id_is_free(state)
  return not state or state == CANCELLED or state == DROPPED or state == FAILED
end

-- has_attempt reports whether the field y has an attempt. If so, the change of its hold was made,
-- whatever happened to the message since.
local function has_attempt(y, attempt)
  return y and attempt ~= '' and string.find(y .. ' ', ' ' .. attempt .. ' ', 1, true) ~= nil
end

-- account_of reads the account from the field y; "" for none.
local function account_of(y)
  local account = y and string.match(y, '^%S+')
  return account ~= '.' and account or ''
end
