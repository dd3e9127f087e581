-- places: the place of a message, in the user's timeline or beside it.
--
-- A message that does not count has its place beside the timeline, in a set of the
-- same form. The record's field z says which set it is.
local beside = string.gsub(timeline, '^([^}]*}:)u:', '%1x:', 1)

-- remove_place takes a message's place away.
local function remove_place(message, was_beside)
  redis.call('ZREM', was_beside and beside or timeline, message)
end

-- put_place gives a message its place at `at`, in the timeline or beside it. It
-- removes the former place and updates the field z of the record under key.
local function put_place(key, message, at, was_beside, is_beside)
  if is_beside and not was_beside then
    redis.call('ZREM', timeline, message)
    redis.call('HSET', key, 'z', 1)
  elseif was_beside and not is_beside then
    redis.call('ZREM', beside, message)
    redis.call('HDEL', key, 'z')
  end
  redis.call('ZADD', is_beside and beside or timeline, at, message)
end
