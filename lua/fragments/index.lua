-- index: which users of a partition have settings. Its members all have the score 0, so
-- that those with a common start can be listed in order:
--
--   a:<user>           a user with settings
--   b:<user>           a blocked one
--   p:<policy>:<user>  one whose settings name a policy

-- unlist removes a user whose settings are still as they were listed.
local function unlist(index, settings, user)
  local policy = redis.call('HGET', settings, 'policy')
  redis.call('ZREM', index, table.concat({'a:', user}), table.concat({'b:', user}))
  if policy then redis.call('ZREM', index, table.concat({'p:', policy, ':', user})) end
end
