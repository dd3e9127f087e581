-- found: the index of messages, which finds a message by its id or its campaign. A member is the
-- watch member without its generation, its score a hash of the id or campaign. Neither changes
-- while the message moves and ends. The entry of an expired record stays until a search finds it,
-- see message/forget.lua.
--
-- Each list has a head for the first HEAD entries, and shards by id for the others. So a small
-- store has one list for a partition instead of sixteen, and a large one has no list that is longer
-- than Redis keeps compact. Entries with long members are in a separate list, which is passed as
-- both head and shard.
local HEAD = 128

-- add_found adds an entry. If there was a record already, the entry stays in its part, as a reader
-- may be going through the parts. A stale entry may be in the other part; readers prefer the head.
local function add_found(head, shard, score, member, there)
  local list = head
  if there and redis.call('ZSCORE', shard, member) then
    list = shard
  elseif redis.call('ZCARD', head) >= HEAD and not (there and redis.call('ZSCORE', head, member)) then
    list = shard
  end
  redis.call('ZADD', list, score, member)
end

local function remove_found(head, shard, member)
  redis.call('ZREM', head, member)
  redis.call('ZREM', shard, member)
end
