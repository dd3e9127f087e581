-- setting/settings_clear.lua: removes all that is set for a user.
--
-- KEYS[1]  settings of the user (HASH)
-- KEYS[2]  index of the settings of the partition (ZSET), see lua/fragments/index.lua
-- ARGV[1]  the user
--
-- Returns  1 removed, 0 nothing was set.
-- Cost     O(log n) in the users of the partition with settings.

if #KEYS ~= 2 or #ARGV ~= 1 then
  return redis.error_reply('ERR setting/settings_clear.lua: wrong number of keys or arguments')
end
--@include moving
--@include index

unlist(KEYS[2], KEYS[1], ARGV[1])
return redis.call('DEL', KEYS[1])
