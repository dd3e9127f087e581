-- watch: adds and removes entries of the watch list of a partition.
--
-- Workers check its near list all the time, its far lists once a minute: entries to be handed over
-- within NEAR are then moved to the near list, see message/bring_near.lua. A message's far list
-- depends only on its id. So no list is long, which keeps all of them in the compact encoding of
-- Redis, and a check reads few of them. The near list may have any entry.
local NEAR = 300000 -- ms

-- add_entry adds the entry of a message that is due in the queue at hand_over, Unix ms.
local function add_entry(near, far, hand_over, delay, member)
  redis.call('ZADD', hand_over - now > NEAR and far or near, math.max(now + delay, hand_over), member)
end

local function remove_entry(near, far, member)
  if redis.call('ZREM', near, member) == 0 then redis.call('ZREM', far, member) end
end
