-- outlive: lets the timeline expire no earlier than its place at `at` can be
-- forgotten, and trims what is forgotten by now.
local function outlive(at)
  local expires = at + keep
  if redis.call('PEXPIRETIME', timeline) < expires then
    redis.call('PEXPIREAT', timeline, expires)
  end
  redis.call('ZREMRANGEBYSCORE', timeline, '-inf', now - keep - 1)
end
