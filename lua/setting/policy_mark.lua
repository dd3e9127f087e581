-- setting/policy_mark.lua: marks a policy as being deleted, or removes the mark. While
-- a policy is marked, and after it was deleted, no user is given it.
--
-- KEYS[1]  policy (STRING, JSON)
-- KEYS[2]  mark of a deletion (STRING): the token of the deletion; with ":deleted"
--          behind it once the policy is deleted
-- ARGV[1]  token of the deletion
-- ARGV[2]  how long the mark stays, ms; 0 removes it
-- ARGV[3]  version to delete, -1 for any
--
-- Returns  {1, version} marked, or the mark removed; {0, 0} there is no policy;
--          {-1, version} the store has this other version.
-- Cost     O(1).

if #KEYS ~= 2 or #ARGV ~= 3 then
  return redis.error_reply('ERR setting/policy_mark.lua: wrong number of keys or arguments')
end
--@include moving

local policy = redis.call('GET', KEYS[1])
if not policy then return {0, 0} end
local version = tonumber(string.match(policy, '"version":(%d+)') or 1)
if ARGV[2] == '0' then
  if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
  return {1, version}
end
local expected = tonumber(ARGV[3])
if expected ~= -1 and expected ~= version then return {-1, version} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {1, version}
