-- setting/policy_changed.lua: tells the programs that follow the policies that one has
-- changed.
--
-- KEYS[1]  changes of policies (ZSET: name -> number of its last change)
-- KEYS[2]  changes under way (ZSET), see policy_changing.lua
-- KEYS[3]  former windows of policies (ZSET), see lua/fragments/former_window.lua
-- ARGV[1]  name of the policy
-- ARGV[2]  token of the change
-- ARGV[3]  how long places counted for the policy before the change, ms; 0 for none
--
-- Returns  the number of the change: the time in Unix microseconds, or one more than the
--          change before. So a store that lost changes gives no number again.
-- Cost     O(log n) in the policies.

if #KEYS ~= 3 or #ARGV ~= 3 then
  return redis.error_reply('ERR setting/policy_changed.lua: wrong number of keys or arguments')
end
--@include moving
--@include former_window

local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local time = redis.call('TIME')
local number = math.max(tonumber(last[2] or 0) + 1, time[1] * 1000000 + time[2])
redis.call('ZADD', KEYS[1], number, ARGV[1])
redis.call('ZREM', KEYS[2], table.concat({ARGV[1], '/', ARGV[2]}))
note_former(KEYS[3], tonumber(ARGV[3]), time[1] * 1000 + (time[2] - time[2] % 1000) / 1000)
return number
