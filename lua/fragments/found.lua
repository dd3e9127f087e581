-- found: the index of messages, by which one is found by its id or its campaign. A member is
-- the watch member without its generation, its score a hash of what it is found by. Neither
-- changes while the message moves and ends. The entry of a record that has expired stays until
-- somebody meets it, see message/forget.lua.
--
-- Each list has a head, which takes the first HEAD entries, and shards by the id, which take
-- the others. A small store then has one list for a partition in place of sixteen, and a large
-- one has none that is longer than Redis keeps compact. Entries with long members are in a list
-- of their own, which is passed as the head and as the shard.
local HEAD = 128

-- add_found adds an entry. If there was a record already, the entry stays in the part in
-- which it is: somebody may go through the parts. A stale entry may be in the other part;
-- readers go by the head then.
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
