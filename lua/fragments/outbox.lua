-- outbox: the states of a notice, and how one ends.
--
--   k  kind                       s  subject: a user, an account or a policy
--   d  what it is about begins, Unix ms
--   h  threshold, percent         u  used              l  limit
--   x  details, opaque here
--   z  state; absent while it waits to be sent
--   n  deliveries tried
--   a  not before, Unix ms: when a retry is due
--   o  nonce of the delivery that holds or held it
--   v  when that delivery's lease ends, Unix ms
--   e  when it ended, Unix ms
--   w  why it ended so or is tried again
--   i  the provider's id
--   b  when it was first claimed, Unix ms
--   g  token of the last call that had it sent after all
--
-- A notice has no expiry until it ends: the outbox knows every one that has not.
local SENDING, DELIVERED, FAILED, DROPPED = 's', 'd', 'f', 'x'

-- end_notice ends a notice. One that failed keeps what it says, since it can be
-- sent after all; of any other no more is kept than that it was.
local function end_notice(how, kind, nonce, reason, kept)
  redis.call('ZREM', outbox, id)
  if how == FAILED then
    redis.call('HSET', notice, 'z', how, 'e', now, 'o', nonce, 'w', reason)
    redis.call('HDEL', notice, 'v', 'a')
    redis.call('ZADD', dead, now, id)
    redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - kept)
  else
    local revived = redis.call('HGET', notice, 'g')
    redis.call('DEL', notice)
    redis.call('HSET', notice, 'k', kind, 'z', how, 'e', now, 'o', nonce, how == DELIVERED and 'i' or 'w', reason)
    if revived then redis.call('HSET', notice, 'g', revived) end -- that call may come again
  end
  redis.call('PEXPIRE', notice, kept)
end
