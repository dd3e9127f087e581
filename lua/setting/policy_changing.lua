-- setting/policy_changing.lua: announces the change of a policy to the programs that
-- follow the policies. They read it until policy_changed.lua tells them that the change
-- was made, so that they also see the change of a program that dies in between.
--
-- KEYS[1]  changes under way (ZSET: name/token -> since when, Unix ms)
-- KEYS[2]  former windows of policies (ZSET), see lua/fragments/former_window.lua
-- ARGV[1]  name of the policy
-- ARGV[2]  token of the change
-- ARGV[3]  the longest that a change may take, ms; announcements before are removed
-- ARGV[4]  how long places count for the present policy, ms; 0 for none
--
-- Returns  since when, Unix ms.
-- Cost     O(log n) in the changes under way.

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR setting/policy_changing.lua: wrong number of keys or arguments')
end
--@include moving
--@include former_window

local time = redis.call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
redis.call('ZADD', KEYS[1], now, table.concat({ARGV[1], '/', ARGV[2]}))
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - tonumber(ARGV[3]))
note_former(KEYS[2], tonumber(ARGV[4]), now)
return now
