-- setting/settings_complete.lua: ends the follow-through of a change of a user's settings, whose
-- scheduled messages were moved or dropped. The version of the settings stays.
--
-- KEYS[1]  settings of the user (HASH)
-- KEYS[2]  index of the settings of the partition (ZSET), see lua/fragments/index.lua
-- ARGV[1]  version of the settings
-- ARGV[2]  the user
--
-- Returns  {1} done, or done before; {0} the store has another version: nothing was done.
-- Cost     O(log n) in the users of the partition with settings.

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR setting/settings_complete.lua: wrong number of keys or arguments')
end
--@include moving
--@include index
--@include own_window
--@include listed_settings

local settings = KEYS[1]
if redis.call('HGET', settings, 'v') ~= ARGV[1] then return {0} end
local fields = redis.call('HMGET', settings, 'then', 'rezoned')
local follows = fields[1] and fields[1] ~= 'keep'
if not follows and not fields[2] then return {1} end
unlist(KEYS[2], settings, ARGV[2])
redis.call('HDEL', settings, 'rezoned')
if follows then redis.call('HDEL', settings, 'then') end
list_or_remove(KEYS[2], settings, ARGV[2], tonumber(redis.call('HGET', settings, 'own') or 0))
return {1}
