-- listed_settings: lists settings of a user in the index of the partition, or removes them if nothing
-- is set. Needs fragments/index.lua and fragments/own_window.lua.

-- list_or_remove returns the version of the settings, "" if they were removed. own is how long
-- places count under the user's own rules, ms. While former own rules still matter, empty settings
-- are removed later.
local function list_or_remove(index, settings, user, own)
  local kept_until = note_own(settings, own)
  local fields = redis.call('HMGET', settings, 'v', 'policy', 'blocked', 'then', 'rezoned')
  if redis.call('HLEN', settings) > (kept_until and 2 or 1) then
    redis.call('PERSIST', settings)
    redis.call('ZADD', index, 0, table.concat({'a:', user}))
    if fields[2] then redis.call('ZADD', index, 0, table.concat({'p:', fields[2], ':', user})) end
    if fields[3] then redis.call('ZADD', index, 0, table.concat({'b:', user})) end
    if fields[5] or fields[4] and fields[4] ~= 'keep' then redis.call('ZADD', index, 0, table.concat({'t:', user})) end
    return fields[1]
  end
  if kept_until then
    redis.call('PEXPIREAT', settings, kept_until)
    return fields[1]
  end
  redis.call('DEL', settings)
  return ''
end
