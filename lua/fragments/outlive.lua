-- outlive: extends the expiry of the timeline, or of another set of places, until the
-- place at `at` no longer counts and its message has expired. It also trims the set.
local function outlive(at, expiry, places)
  places = places or timeline
  local expires = math.max(at + keep, expiry or 0)
  if redis.call('PEXPIRETIME', places) < expires then
    redis.call('PEXPIREAT', places, expires)
  end
  trim(now - keep - 1, places)
end
