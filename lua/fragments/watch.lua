-- watch: adds and removes entries of the watch list of a partition.
--
-- Workers look at its near list all the time, at its far lists once a minute: what is handed
-- over within NEAR is moved to the near list then, see message/bring_near.lua. A message's far
-- list depends on its id alone. So no list is long, which keeps all of them in the compact
-- encoding of Redis, and a look reads few of them. The near list may have any entry.
local NEAR = 300000 -- ms

-- add_entry adds the entry of a message that goes to the queue at hand_over, Unix ms.
local function add_entry(near, far, hand_over, delay, member)
  redis.call('ZADD', hand_over - now > NEAR and far or near, math.max(now + delay, hand_over), member)
end

local function remove_entry(near, far, member)
  if redis.call('ZREM', near, member) == 0 then redis.call('ZREM', far, member) end
end
