-- device/recount.lua: counts the devices of a user again.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- KEYS[2]  counts of the partition (HASH), see lua/fragments/device_counts.lua
-- ARGV[1]  user
-- ARGV[2..]  accounts of the counts
--
-- Returns  {account, devices in the partition, ...} for changed counts.
-- Cost     O(n) in the user's devices and the accounts.

if #KEYS ~= 2 or #ARGV < 2 then
  return redis.error_reply('ERR device/recount.lua: wrong number of keys or arguments')
end
--@include moving

--@include devices
--@include device_counts
local list = read_devices(KEYS[1])
return change_devices(KEYS[1], KEYS[2], ARGV[1], list, list, {unpack(ARGV, 2)})
