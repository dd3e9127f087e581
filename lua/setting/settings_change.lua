-- setting/settings_change.lua: stores a user's settings under a new version, unless
-- they changed since they were read.
--
-- KEYS[1]  settings of the user (HASH)
-- ARGV[1]  version that was read; "" for none, * for any
-- ARGV[2]  new version
-- ARGV[3]  contact; "" here and below: not set
-- ARGV[4]  name of the policy
-- ARGV[5]  limits that replace rules, separated by spaces
-- ARGV[6]  time zone
-- ARGV[7]  1 if the user is blocked
-- ARGV[8]  quiet hours
-- ARGV[9]  rules of categories
-- ARGV[10] categories that the user does not want, separated by spaces
--
-- Returns  {1, version} stored; {0, version} the store has this other version. A
--          repeated call returns {1, version}. Fields that only a newer program knows
--          stay. If there are none and nothing is set, the settings are removed, and
--          the version is "".
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 10 then
  return redis.error_reply('ERR setting/settings_change.lua: wrong number of keys or arguments')
end

local settings = KEYS[1]
local version = redis.call('HGET', settings, 'v') or ''
if version == ARGV[2] then return {1, version} end
if ARGV[1] ~= '*' and ARGV[1] ~= version then return {0, version} end

redis.call('HSET', settings, 'v', ARGV[2])
local values = {ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]}
for k, field in ipairs({'contact', 'policy', 'limits', 'zone', 'blocked', 'quiet', 'categories', 'out'}) do
  if values[k] == '' then
    redis.call('HDEL', settings, field)
  else
    redis.call('HSET', settings, field, values[k])
  end
end
if redis.call('HLEN', settings) > 1 then return {1, ARGV[2]} end
redis.call('DEL', settings)
return {1, ''}
