-- setting/settings_change.lua: stores a user's settings under a new version, unless they changed
-- since they were read.
--
-- KEYS[1]  settings of the user (HASH)
-- KEYS[2]  index of the settings of the partition (ZSET), see lua/fragments/index.lua
-- KEYS[3]  claims of the policy in the partition (SET of tokens)
-- ARGV[1]  version that was read; "" for none, * for any; - for any, and to remove all fields
-- ARGV[2]  new version
-- ARGV[3]  the user
-- ARGV[4]  token of the claim of the policy; "" if the user had the policy at the version that
--          was read, or gets none
-- ARGV[5]  contact; "" here and below: not set
-- ARGV[6]  name of the policy
-- ARGV[7]  limits that replace rules, separated by spaces
-- ARGV[8]  time zone
-- ARGV[9]  1 if the user is blocked
-- ARGV[10] quiet hours
-- ARGV[11] rules of categories
-- ARGV[12] categories that the user does not want, separated by spaces
-- ARGV[13] before which time the user is not disturbed, Unix ms
-- ARGV[14] what becomes of scheduled messages: keep, shift or drop
-- ARGV[15] weights of the user's best hours
-- ARGV[16] how long places count under the user's own rules, ms; 0 without any
--
-- Returns  {1, version, 1 if messages are still to move to another time zone, else 0} stored; {0,
--          version} the store has this other version; {-1, version} the claim is gone: claim the
--          policy again. A repeated call returns the same. Fields that only a newer program knows
--          stay, except with "-". Without them, empty settings are removed, and the version is "";
--          while former rules of the user's own still matter, they are removed later.
-- Cost     O(log n) in the users of the partition with settings.

if #KEYS ~= 3 or #ARGV ~= 16 then
  return redis.error_reply('ERR setting/settings_change.lua: wrong number of keys or arguments')
end
--@include moving
--@include index
--@include own_window
--@include listed_settings

local settings = KEYS[1]
local version = redis.call('HGET', settings, 'v') or ''
local rezoned = redis.call('HGET', settings, 'rezoned')
if version == ARGV[2] then return {1, version, rezoned and 1 or 0} end
if ARGV[1] ~= '*' and ARGV[1] ~= '-' and ARGV[1] ~= version then return {0, version} end
if ARGV[4] ~= '' and redis.call('SREM', KEYS[3], ARGV[4]) == 0 then return {-1, version} end

unlist(KEYS[2], settings, ARGV[3])
rezoned = rezoned or (redis.call('HGET', settings, 'zone') or '') ~= ARGV[8]
if ARGV[1] == '-' then
  for _, field in ipairs(redis.call('HKEYS', settings)) do
    if field ~= 'own' and field ~= 'kept' then redis.call('HDEL', settings, field) end
  end
end
redis.call('HSET', settings, 'v', ARGV[2])
local values = {ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14],
  ARGV[15]}
local names = {'contact', 'policy', 'limits', 'zone', 'blocked', 'quiet', 'categories', 'out', 'disturb', 'then',
  'best'}
for k, field in ipairs(names) do
  if values[k] == '' then
    redis.call('HDEL', settings, field)
  else
    redis.call('HSET', settings, field, values[k])
  end
end
if rezoned then redis.call('HSET', settings, 'rezoned', 1) end
return {1, list_or_remove(KEYS[2], settings, ARGV[3], tonumber(ARGV[16])), rezoned and 1 or 0}
