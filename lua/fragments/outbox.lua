-- outbox: the states of a notice, and how one ends.
--
--   k  kind
--   s  subject: a user, an account or a policy
--   d  begin of the period that it is about, Unix ms
--   h  threshold, percent
--   u  used
--   l  limit
--   x  details, opaque here
--   z  state; absent while it waits to be sent
--   n  deliveries tried
--   a  not before, Unix ms: when a retry is due
--   o  nonce of the last delivery that claimed it
--   v  when that delivery's lease ends, Unix ms
--   e  when it ended, Unix ms
--   w  why it ended or is tried again
--   i  the provider's id
--   b  when it was first claimed, Unix ms
--   g  token of the last call that revived it
--   t  when a delivery first failed and was to be tried again, Unix ms
--   c  deliveries that were not settled
--   f  looks in the fair time after the lease, see fragments/fair.lua
--   y  the last of these looks, Unix ms
--
-- A notice does not expire before it ends: until then the outbox has an entry for it.
local SENDING, DELIVERED, FAILED, DROPPED = 's', 'd', 'f', 'x'

-- end_notice ends a notice. A failed one keeps its content, since it can be sent
-- after all. Of any other only the id, the kind and the outcome stay.
local function end_notice(how, kind, nonce, reason, kept)
  redis.call('ZREM', outbox, id)
  if how == FAILED then
    redis.call('HSET', notice, 'z', how, 'e', now, 'o', nonce, 'w', reason)
    redis.call('HDEL', notice, 'v', 'a', 'f', 'y')
    note_dead(dead, id, kept)
  else
    local revived = redis.call('HGET', notice, 'g')
    redis.call('DEL', notice)
    redis.call('HSET', notice, 'k', kind, 'z', how, 'e', now, 'o', nonce, how == DELIVERED and 'i' or 'w', reason)
    if revived then redis.call('HSET', notice, 'g', revived) end -- that call may be repeated
  end
  redis.call('PEXPIRE', notice, kept)
end
