-- setting/policy_delete.lua: deletes a policy that is still marked by this deletion, and notifies
-- the programs that follow the policies. Its versions are kept for a while, and name the author of
-- the deletion.
--
-- KEYS[1]  policies (HASH: name -> JSON)
-- KEYS[2]  versions of the policy (LIST of JSON), see lua/fragments/policy_change.lua
-- KEYS[3]  mark of a deletion (STRING), see policy_mark.lua
-- KEYS[4]  changes of policies (ZSET: name -> number of its last change)
-- KEYS[5]  windows of policies (ZSET), see lua/fragments/policy_change.lua
-- ARGV[1]  name of the policy
-- ARGV[2]  token of the deletion
-- ARGV[3]  author of the deletion, JSON string
-- ARGV[4]  maximum number of versions to keep
-- ARGV[5]  how long versions and mark are kept, ms
--
-- Returns  1 deleted, by this or an earlier call with this token; 0 another mark or none:
--          the policy was applied meanwhile, or marking was too long ago.
-- Cost     O(n) in the policies.

if #KEYS ~= 5 or #ARGV ~= 5 then
  return redis.error_reply('ERR setting/policy_delete.lua: wrong number of keys or arguments')
end
--@include moving
--@include policy_change

local policies, versions, mark, changes, windows = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, token = ARGV[1], ARGV[2]

local marked = redis.call('GET', mark)
local deleted = table.concat({token, ':deleted'})
if marked == deleted then return 1 end
local policy = redis.call('HGET', policies, name)
if marked ~= token or not policy then return 0 end
local version = next_version(versions, tonumber(string.match(policy, '"version":(%d+)') or 1))
redis.call('SET', mark, deleted, 'PX', ARGV[5])
replace_window(windows, name)
note_change(changes, name)
redis.call('HDEL', policies, name)
keep_version(versions, version, ARGV[3], 'deleted', 'true', ARGV[4])
redis.call('PEXPIRE', versions, ARGV[5])
return 1
