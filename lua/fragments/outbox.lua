-- outbox: the states of an alert, and how it ends.
--
--   k  kind
--   s  subject: a user, an account or a policy
--   d  begin of its period, Unix ms
--   h  threshold, percent
--   u  used
--   l  limit
--   x  details, opaque here
--   z  state; absent while it waits to be sent
--   n  deliveries tried
--   a  not before, Unix ms: when a retry is due
--   o  nonce of the last delivery that claimed it
--   v  end of that delivery's lease, Unix ms
--   e  when it ended, Unix ms
--   w  why it ended or is tried again
--   i  the provider's id
--   b  when it was first claimed, Unix ms
--   g  token of the last call that revived it
--   t  when a delivery first failed and was to be tried again, Unix ms
--   c  deliveries that did not settle
--   f  looks in the grace period after the lease, see fragments/grace.lua
--   y  time of the last of these looks, Unix ms
--
-- An alert does not expire before it ends: until then the outbox has an entry for it.
--@include replace
local SENDING, DELIVERED, FAILED, DROPPED = 's', 'd', 'f', 'x'

-- end_notice ends an alert. A failed one keeps its content, since it can be sent after all. Others
-- keep only the id, the kind and the outcome.
local function end_notice(how, kind, nonce, reason, kept)
  redis.call('HDEL', notice, 'f', 'y') -- a script that first removes may write in a full store
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
  redis.call('ZREM', outbox, id) -- last: until then a worker checks it again
end

-- finish_end completes the end of an alert that is still in the outbox, after a torn log.
local function finish_end(ended, kept)
  if redis.call('HGET', notice, 'z') == FAILED then note_dead(dead, id, kept, ended) end
  if redis.call('PTTL', notice) == -1 then redis.call('PEXPIRE', notice, kept) end
  redis.call('ZREM', outbox, id)
end
