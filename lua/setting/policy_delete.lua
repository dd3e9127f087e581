-- setting/policy_delete.lua: deletes a policy that is still marked by this deletion.
-- Its versions stay for a while, and say who deleted it.
--
-- KEYS[1]  policy (STRING, JSON)
-- KEYS[2]  versions of the policy (LIST of JSON, the newest first)
-- KEYS[3]  mark of a deletion (STRING), see policy_mark.lua
-- ARGV[1]  token of the deletion
-- ARGV[2]  who deletes it, JSON string
-- ARGV[3]  the most versions to keep
-- ARGV[4]  how long versions and mark stay, ms
--
-- Returns  1 deleted, also by an earlier call with this token; 0 another mark or none:
--          the policy was applied meanwhile, or marking was too long ago.
-- Cost     O(1).

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR setting/policy_delete.lua: wrong number of keys or arguments')
end
--@include moving
--@include versions

local mark = redis.call('GET', KEYS[3])
local deleted = table.concat({ARGV[1], ':deleted'})
if mark == deleted then return 1 end
local policy = redis.call('GET', KEYS[1])
if mark ~= ARGV[1] or not policy then return 0 end
local version = next_version(KEYS[2], tonumber(string.match(policy, '"version":(%d+)') or 1))
keep_version(KEYS[2], version, ARGV[2], 'deleted', 'true', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[3], deleted, 'PX', ARGV[4])
return 1
