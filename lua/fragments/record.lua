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
