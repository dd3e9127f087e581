-- places: the place of a message, in the user's timeline or beside it.
--
-- A message that does not count has its place beside the timeline, in a set of the same form. The
-- record's field z says which set it is. The place of a message that counts is also in the set of
-- its category, the record's field k.
local beside = string.gsub(timeline, '^([^}]*}:)u:', '%1x:', 1)

-- remove_place removes a message's place.
local function remove_place(message, was_beside, category)
  redis.call('ZREM', was_beside and beside or timeline, message)
  if category and not was_beside then redis.call('ZREM', places_of(category), message) end
end

-- put_place gives a message its place at `at`, in the timeline or beside it. Then it updates the
-- field z of the record under key, and removes the former place.
local function put_place(key, message, at, was_beside, is_beside, category)
  redis.call('ZADD', is_beside and beside or timeline, at, message)
  if category and not is_beside then redis.call('ZADD', places_of(category), at, message) end
  if is_beside and not was_beside then
    redis.call('HSET', key, 'z', 1)
    remove_place(message, false, category)
  elseif was_beside and not is_beside then
    redis.call('HDEL', key, 'z')
    remove_place(message, true)
  end
end
