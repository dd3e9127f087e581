-- setting/policy_apply.lua: replaces the policy with its name under the next version, adds it to
-- the list of versions, and notifies the programs that follow the policies.
--
-- KEYS[1]  policies (HASH: name -> JSON)
-- KEYS[2]  versions of the policy (LIST of JSON), see lua/fragments/policy_change.lua
-- KEYS[3]  mark of a deletion (STRING), see policy_mark.lua; a stored policy removes it
-- KEYS[4]  changes of policies (ZSET: name -> number of its last change)
-- KEYS[5]  windows of policies (ZSET), see lua/fragments/policy_change.lua
-- ARGV[1]  name of the policy
-- ARGV[2]  the policy without a version, JSON
-- ARGV[3]  version to replace; 0 if there must be none, -1 for any
-- ARGV[4]  author of the change, JSON string
-- ARGV[5]  maximum number of versions to keep
-- ARGV[6]  how long places count under the policy, ms
--
-- Returns  {1, version, text, now, kept} stored; {0, …} the store has this policy already;
--          {-1, …} the store has another version. version is the present one. text is the
--          former JSON, "" for none. now is Unix ms. kept is how long places counted before
--          the call, ms, under any policy, present or former.
-- Cost     O(n) in the policies.

if #KEYS ~= 5 or #ARGV ~= 6 then
  return redis.error_reply('ERR setting/policy_apply.lua: wrong number of keys or arguments')
end
--@include moving
--@include policy_change

local policies, versions, mark, changes, windows = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, text, expected = ARGV[1], ARGV[2], tonumber(ARGV[3])

local kept = 0
for _, window in ipairs(redis.call('ZRANGE', windows, string.format('%.0f', now + 1), '+inf', 'BYSCORE')) do
  kept = math.max(kept, tonumber(string.match(window, '%d+$')))
end

local before = redis.call('HGET', policies, name) or ''
local version = 0
if before ~= '' then
  -- A text that is not JSON any more can be replaced too: it has version 1. Quotes inside JSON
  -- strings are escaped, so this matches the field.
  version = tonumber(string.match(before, '"version":(%d+)') or 1)
  if string.gsub(before, ',"version":%d+', '') == text then
    redis.call('DEL', mark)
    return {0, version, before, now, kept}
  end
end
if expected ~= -1 and expected ~= version then return {-1, version, before, now, kept} end

version = next_version(versions, version)
local policy = table.concat({string.sub(text, 1, -2), ',"version":', string.format('%.0f', version), '}'})
replace_window(windows, name, ARGV[6])
note_change(changes, name)
redis.call('HSET', policies, name, policy)
keep_version(versions, version, ARGV[4], 'policy', policy, ARGV[5])
redis.call('PERSIST', versions)
redis.call('DEL', mark)
return {1, version, before, now, kept}
