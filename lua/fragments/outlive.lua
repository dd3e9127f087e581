-- outlive: lets the timeline, or another sorted set of places if its key is given,
-- expire no earlier than the place at `at` can be forgotten and its message has
-- expired, and trims what is forgotten by now.
local function outlive(at, expiry, places)
  places = places or timeline
  local expires = math.max(at + keep, expiry or 0)
  if redis.call('PEXPIRETIME', places) < expires then
    redis.call('PEXPIREAT', places, expires)
  end
  trim(now - keep - 1, places)
end
