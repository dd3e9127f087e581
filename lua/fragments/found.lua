-- found: the index of messages, by which one is found by its id or its campaign. A member is
-- the watch member without its generation, its score a hash of what it is found by. Neither
-- changes while the message moves and ends. The entry of a record that has expired stays until
-- somebody meets it, see message/forget.lua.

-- add_found adds a message to the lists of the ids and of the campaigns, with "" as the score
-- to none. The member may have a generation.
local function add_found(ids, campaigns, member, by_id, by_campaign)
  member = string.match(member, '/.*')
  if by_id ~= '' then redis.call('ZADD', ids, by_id, member) end
  if by_campaign ~= '' then redis.call('ZADD', campaigns, by_campaign, member) end
end

local function remove_found(list, member)
  redis.call('ZREM', list, string.match(member, '/.*'))
end
