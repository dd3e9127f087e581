-- places: where the place of a message is: in the user's timeline; or beside it,
-- in a set of the same form, where its category is exempt and does not count.
-- Which of them, the record's field z says.
local beside = string.gsub(timeline, '^([^}]*}:)u:', '%1x:', 1)

-- remove_place takes a message's place away. A program that knew only the timeline
-- may have given one there to a message whose place was beside it.
local function remove_place(message, was_beside)
  redis.call('ZREM', timeline, message)
  if was_beside then redis.call('ZREM', beside, message) end
end

-- put_place gives a message its place at `at`, in the timeline or beside it,
-- wherever it was before, and keeps its record so.
local function put_place(key, message, at, was_beside, is_beside)
  if was_beside or is_beside then remove_place(message, true) end
  redis.call('ZADD', is_beside and beside or timeline, at, message)
  if is_beside then
    redis.call('HSET', key, 'z', 1)
  elseif was_beside then
    redis.call('HDEL', key, 'z')
  end
end
