-- setting/policy_apply.lua: stores a policy in place of the one with its name,
-- under the next version, and keeps the version in the list of versions.
--
-- KEYS[1]  policy (STRING, JSON)
-- KEYS[2]  versions of the policy (LIST of JSON, the newest first)
-- KEYS[3]  mark of a deletion (STRING), see policy_mark.lua; a stored policy removes it
-- ARGV[1]  the policy without a version, JSON
-- ARGV[2]  version to replace; 0 if there must be none, -1 for any
-- ARGV[3]  who makes the change, JSON string
-- ARGV[4]  the most versions to keep
--
-- Returns  {1, version, text} stored; {0, version, text} the store has this policy
--          already; {-1, version, text} the store has another version. version is the
--          present one. text is the JSON from before the call, "" for none.
-- Cost     O(1).

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR setting/policy_apply.lua: wrong number of keys or arguments')
end
--@include moving
--@include versions

local before = redis.call('GET', KEYS[1]) or ''
local version = 0
if before ~= '' then
  -- A text that is not JSON any more can be replaced, too: it has version 1. Quotes
  -- inside JSON strings are escaped, so this matches the field.
  version = tonumber(string.match(before, '"version":(%d+)') or 1)
  if string.gsub(before, ',"version":%d+', '') == ARGV[1] then
    redis.call('DEL', KEYS[3])
    return {0, version, before}
  end
end
local expected = tonumber(ARGV[2])
if expected ~= -1 and expected ~= version then return {-1, version, before} end

local policy = string.sub(ARGV[1], 1, -2)
version = next_version(KEYS[2], version)
policy = policy .. ',"version":' .. string.format('%.0f', version) .. '}'
redis.call('SET', KEYS[1], policy)
keep_version(KEYS[2], version, ARGV[3], 'policy', policy, ARGV[4])
redis.call('PERSIST', KEYS[2])
redis.call('DEL', KEYS[3])
return {1, version, before}
