-- dead: lists what was given up, and can be sent after all.
--
-- Adding an entry removes those that are older than they are kept. The whole list expires with
-- its last entry. It ended at `at`, Unix ms; now without that.
local function note_dead(dead, member, kept, at)
  redis.call('ZADD', dead, at or now, member)
  redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - kept)
  if redis.call('PEXPIREAT', dead, now + kept, 'GT') == 0 then redis.call('PEXPIREAT', dead, now + kept, 'NX') end
end
