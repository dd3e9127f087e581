-- outlive: lets the timeline expire no earlier than its place at `at` can be
-- forgotten and its message has expired, and trims what is forgotten by now.
local function outlive(at, expiry)
  local expires = math.max(at + keep, expiry or 0)
  if redis.call('PEXPIRETIME', timeline) < expires then
    redis.call('PEXPIREAT', timeline, expires)
  end
  trim(now - keep - 1)
end
