-- setting/policy_mark.lua: marks a policy as being deleted, or removes the mark. While a policy is
-- marked, and after it was deleted, it can't be given to a user.
--
-- KEYS[1]  policies (HASH: name -> JSON)
-- KEYS[2]  mark of a deletion (STRING): the token of the deletion; ":deleted" follows
--          after the policy was deleted
-- ARGV[1]  name of the policy
-- ARGV[2]  token of the deletion
-- ARGV[3]  how long the mark is kept, ms; 0 removes it
-- ARGV[4]  version to delete, -1 for any
--
-- Returns  {1, version} marked, or the mark removed; {0, 0} there is no policy;
--          {-1, version} the store has this other version.
-- Cost     O(1).

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR setting/policy_mark.lua: wrong number of keys or arguments')
end
--@include moving

local policy = redis.call('HGET', KEYS[1], ARGV[1])
if not policy then return {0, 0} end
local version = tonumber(string.match(policy, '"version":(%d+)') or 1)
if ARGV[3] == '0' then
  if redis.call('GET', KEYS[2]) == ARGV[2] then redis.call('DEL', KEYS[2]) end
  return {1, version}
end
local expected = tonumber(ARGV[4])
if expected ~= -1 and expected ~= version then return {-1, version} end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return {1, version}
