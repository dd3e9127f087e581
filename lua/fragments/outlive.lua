-- outlive: extends the expiry of the timeline, or of another set of places, until the place at `at`
-- no longer counts and its message has expired. It also trims the set. With a category it does the
-- same to the set of that category.
local function outlive(at, expiry, places, category)
  local expires = math.max(at + keep, expiry or 0)
  local sets = {places or timeline, category and places_of(category) or nil}
  for k = 1, #sets do
    if redis.call('PEXPIRETIME', sets[k]) < expires then
      redis.call('PEXPIREAT', sets[k], expires)
    end
    trim(now - keep - 1, sets[k])
  end
end
