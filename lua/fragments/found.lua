-- found: the index of messages, which finds a message by its id or its campaign. A member is the
-- watch member without its generation, its score a hash of the id or campaign. Neither changes
-- while the message moves and ends; a replacement of the message may change its campaign. The entry
-- of an expired record stays until a search finds it, see message/forget.lua.
--
-- Each list, "ids" and "camps", has a head for the first HEAD entries, and shards by id for the
-- others. So a small store has one list for a partition instead of sixteen, and a large one has no
-- list that is longer than Redis keeps compact. Entries with long members are in a separate list.
-- The letter of a shard is that of the far list, see fragments/watch.lua.
--@include partition
local HEAD, COMPACT = 128, 64 -- entries; bytes of a member

-- add_found adds an entry to a list. If there was a record already, the entry stays in its part, as
-- a reader may be going through the parts. A stale entry may be in the other part; readers prefer
-- the head.
local function add_found(list, letter, score, member, there)
  local part = prefix .. list
  local shard = part .. ':' .. letter
  if #member > COMPACT then
    part = part .. ':long'
  elseif there and redis.call('ZSCORE', shard, member) then
    part = shard
  elseif redis.call('ZCARD', part) >= HEAD and not (there and redis.call('ZSCORE', part, member)) then
    part = shard
  end
  redis.call('ZADD', part, score, member)
end
