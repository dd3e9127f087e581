-- setting/policy_apply.lua: stores a policy in place of the one with its name,
-- under the next version.
--
-- KEYS[1]  policy (STRING, JSON)
-- ARGV[1]  the policy without a version, JSON
-- ARGV[2]  version to replace; 0 if there must be none, -1 for any
--
-- Returns  {1, version, text} stored; {0, version, text} the store has this policy
--          already; {-1, version, text} the store has another version. version is the
--          present one. text is the JSON from before the call, "" for none.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR setting/policy_apply.lua: wrong number of keys or arguments')
end

local before = redis.call('GET', KEYS[1]) or ''
local version = 0
if before ~= '' then
  -- A text that is not JSON any more can be replaced, too: it has version 1. Quotes
  -- inside JSON strings are escaped, so this matches the field.
  version = tonumber(string.match(before, '"version":(%d+)') or 1)
  if string.gsub(before, ',"version":%d+', '') == ARGV[1] then return {0, version, before} end
end
local expected = tonumber(ARGV[2])
if expected ~= -1 and expected ~= version then return {-1, version, before} end

local policy = string.sub(ARGV[1], 1, -2)
version = version + 1
redis.call('SET', KEYS[1], policy .. ',"version":' .. string.format('%.0f', version) .. '}')
return {1, version, before}
