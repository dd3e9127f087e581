-- watch: adds and removes entries of the watch list of a partition.
--
-- Workers check its near list all the time, its far lists once a minute: entries to be handed over
-- within NEAR are then moved to the near list, see message/bring_near.lua. A message's far list
-- depends only on its id. So no list is long, which keeps all of them in the compact encoding of
-- Redis, and a check reads few of them. The near list may have any entry.
--
-- The near list is "watch" in the partition, a far list "far:" and its letter (ZSET: watch member ->
-- when to check, Unix ms). A message's entry is its generation and a suffix, see
-- keyspace.WatchSuffix. A watch word is the letter of its far list, followed by the suffix.
--@include partition
local NEAR = 300000 -- ms

-- add_entry adds the entry of a message that is due in the queue at hand_over, Unix ms.
local function add_entry(letter, hand_over, delay, member)
  local list = hand_over - now > NEAR and prefix .. 'far:' .. letter or prefix .. 'watch'
  redis.call('ZADD', list, string.format('%d', math.max(now + delay, hand_over)), member)
end

local function remove_entry(letter, member)
  if redis.call('ZREM', prefix .. 'watch', member) == 0 then
    redis.call('ZREM', prefix .. 'far:' .. letter, member)
  end
end
