-- device/remove.lua: removes a device of a user.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- KEYS[2]  counts of the partition (HASH), see lua/fragments/device_counts.lua
-- ARGV[1]  id of the device
-- ARGV[2]  the account that must have registered it; "*" for any
-- ARGV[3]  user
--
-- Returns  {1, counts} removed; {0, counts} no such device. The counts are {account, devices in
--          the partition, ...} for changed counts.
-- Cost     O(n) in the user's devices.

if #KEYS ~= 2 or #ARGV ~= 3 then
  return redis.error_reply('ERR device/remove.lua: wrong number of keys or arguments')
end
--@include moving

--@include devices
--@include device_counts
local before, list, removed = read_devices(KEYS[1]), {}, 0
for _, d in ipairs(before) do
  if d[1] == ARGV[1] and (ARGV[2] == '*' or ARGV[2] == d[7]) then
    removed = 1
  else
    list[#list + 1] = d
  end
end
if removed == 0 then return {0, {}} end
return {1, change_devices(KEYS[1], KEYS[2], ARGV[3], before, list, {})}
