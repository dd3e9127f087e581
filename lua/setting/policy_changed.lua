-- setting/policy_changed.lua: tells the programs that follow the policies that one has
-- changed.
--
-- KEYS[1]  changes of policies (ZSET: name -> number of its last change)
-- KEYS[2]  changes under way (ZSET), see policy_changing.lua
-- ARGV[1]  name of the policy
-- ARGV[2]  token of the change
--
-- Returns  the number of the change: the time in Unix microseconds, or one more than the
--          change before. So a store that lost changes gives no number again.
-- Cost     O(log n) in the policies.

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR setting/policy_changed.lua: wrong number of keys or arguments')
end
--@include moving

local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local time = redis.call('TIME')
local number = math.max(tonumber(last[2] or 0) + 1, time[1] * 1000000 + time[2])
redis.call('ZADD', KEYS[1], number, ARGV[1])
redis.call('ZREM', KEYS[2], table.concat({ARGV[1], '/', ARGV[2]}))
return number
