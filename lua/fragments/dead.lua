-- dead: lists messages, alerts or events that were given up but can be sent after all.
--
-- Adding an entry removes entries that are older than `kept`. The whole list expires with its last
-- entry. The entry ended at `at`, Unix ms; nil means now.
local function note_dead(dead, member, kept, at)
  redis.call('ZADD', dead, at or now, member)
  redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - kept)
  if redis.call('PEXPIREAT', dead, now + kept, 'GT') == 0 then redis.call('PEXPIREAT', dead, now + kept, 'NX') end
end
