-- audit_remove: removes entries of the log of changes.
local REMOVED = 100 -- entries that one call removes; later calls remove the rest

-- remove_entries removes entries from the log, and from a list of an account. The id of a removed
-- entry may stay in other lists: their bounds remove it.
local function remove_entries(entries, ids, own, old)
  if #old == 0 then return end
  local fields = {}
  for k = 1, #old do
    local id = old[k]
    fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = id, id .. ' end', id .. ' more'
  end
  redis.call('HDEL', entries, unpack(fields))
  redis.call('ZREM', ids, unpack(old))
  redis.call('ZREM', own, unpack(old))
end
