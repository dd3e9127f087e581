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
--   f  looks in the grace period after the lease, see fragments/grace.lua
--   y  the last of these looks, Unix ms
--
-- A notice does not expire before it ends: until then the outbox has an entry for it.
--@include replace
local SENDING, DELIVERED, FAILED, DROPPED = 's', 'd', 'f', 'x'

-- end_notice ends a notice. A failed one keeps its content, since it can be sent
-- after all. Of any other only the id, the kind and the outcome stay.
local function end_notice(how, kind, nonce, reason, kept)
  redis.call('HDEL', notice, 'f', 'y') -- a script that removes first may write in a full store
  if how == FAILED then
    redis.call('HSET', notice, 'z', how, 'e', now, 'o', nonce, 'w', reason)
    redis.call('HDEL', notice, 'v', 'a')
    note_dead(dead, id, kept)
    redis.call('PEXPIRE', notice, kept)
  else
    local fields = {'k', kind, 'z', how, 'e', now, 'o', nonce, how == DELIVERED and 'i' or 'w', reason}
    local revived = redis.call('HGET', notice, 'g')
    if revived then fields[11], fields[12] = 'g', revived end -- that call may be repeated
    replace_record(notice, fields, kept)
  end
  redis.call('ZREM', outbox, id) -- last: until then a worker looks at it again
end

-- finish_end finishes the end of a notice that the outbox still has: a log was torn in it.
local function finish_end(ended, kept)
  if redis.call('HGET', notice, 'z') == FAILED then note_dead(dead, id, kept, ended) end
  if redis.call('PTTL', notice) == -1 then redis.call('PEXPIRE', notice, kept) end
  redis.call('ZREM', outbox, id)
end
