-- index: which users of a partition have settings. All members have the score 0, so that members
-- with a common prefix can be listed in order:
--
--   a:<user>           a user with settings
--   b:<user>           a blocked user
--   t:<user>           a user whose scheduled messages are still to be moved or dropped
--   p:<policy>:<user>  a user whose settings name a policy

-- unlist removes the entries of a user whose settings are still as they were listed.
local function unlist(index, settings, user)
  local policy = redis.call('HGET', settings, 'policy')
  redis.call('ZREM', index, table.concat({'a:', user}), table.concat({'b:', user}), table.concat({'t:', user}))
  if policy then redis.call('ZREM', index, table.concat({'p:', policy, ':', user})) end
end
