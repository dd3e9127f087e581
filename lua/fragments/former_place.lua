-- former_place: keeps the place of a message that may have been sent, if another may get its id.
--
-- An uncertain message may have been sent, so its place counts until the rules forget it, also
-- after a purge or while it is sent again. The same holds for one that may have arrived and is
-- cancelled. The place gets a name that no caller gives; if it has a category, a record with
-- nothing but that, as after a purge, which expires at `expires`, Unix ms.
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
