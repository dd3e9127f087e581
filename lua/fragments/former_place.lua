-- former_place: keeps the place of a message that may have been sent, when another message may get
-- its id.
--
-- An uncertain message may have been sent, so its place counts until the rules forget it, also
-- after a purge or while it is sent again. So does the place of a message that may have arrived and
-- is cancelled. The place gets a name that no caller can use. If it has a category, it also gets a
-- record with only the category, which expires at `expires`, Unix ms.
local function keep_former_place(category, expires)
  local at = redis.call('ZSCORE', timeline, id)
  if not at then return end
  local digest = redis.sha1hex(table.concat({id, '/', at}))
  local name = table.concat({'purged-', string.sub(digest, 1, 20)})
  redis.call('ZADD', timeline, at, name)
  if not category then return end
  redis.call('ZADD', places_of(category), at, name)
  local other = table.concat({string.sub(record, 1, #record - #id), name})
  redis.call('HSET', other, 'k', category)
  if expires > 0 then redis.call('PEXPIREAT', other, expires) end
end
