-- listed_settings: lists settings of a user in the index of the partition, or removes them if nothing
-- is set. Needs fragments/index.lua and fragments/own_window.lua.

-- list_or_remove returns the version of the settings, "" if they were removed. own is how long
-- places count under the user's own rules, ms. While former own rules still matter, or messages are
-- still to move to another time zone, empty settings are removed later.
local function list_or_remove(index, settings, user, own)
  local kept_until = note_own(settings, own)
  local fields = redis.call('HMGET', settings, 'v', 'policy', 'blocked', 'then', 'rezoned')
  local pending = fields[5] or fields[4] and fields[4] ~= 'keep'
  local set = redis.call('HLEN', settings) > 1 + (kept_until and 1 or 0) + (fields[5] and 1 or 0)
  if set then redis.call('ZADD', index, 0, table.concat({'a:', user})) end
  if fields[2] then redis.call('ZADD', index, 0, table.concat({'p:', fields[2], ':', user})) end
  if fields[3] then redis.call('ZADD', index, 0, table.concat({'b:', user})) end
  if pending then redis.call('ZADD', index, 0, table.concat({'t:', user})) end
  if set or pending then
    redis.call('PERSIST', settings)
    return fields[1]
  end
  if kept_until then
    redis.call('PEXPIREAT', settings, kept_until)
    return fields[1]
  end
  redis.call('DEL', settings)
  return ''
end
