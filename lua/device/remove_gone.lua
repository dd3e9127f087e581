-- device/remove_gone.lua: removes devices of a user that their providers no longer know, unless
-- they were registered again.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- KEYS[2]  counts of the partition (HASH), see lua/fragments/device_counts.lua
-- ARGV[1]  user
-- ARGV[2..]  for each device its id, the address that is gone, and since when, Unix ms; "" if
--          the provider does not say when
--
-- Returns  {ids of removed devices, counts}. The counts are {account, devices in the partition,
--          ...} for changed counts.
-- Cost     O(n * m) in the user's devices and the devices that are gone.

if #KEYS ~= 2 or #ARGV < 4 or #ARGV % 3 ~= 1 then
  return redis.error_reply('ERR device/remove_gone.lua: wrong number of keys or arguments')
end
--@include moving

--@include devices
--@include device_counts
local entries = {unpack(ARGV, 2)}
local before, list, removed = read_devices(KEYS[1]), {}, {}
for _, d in ipairs(before) do
  local gone = false
  for k = 1, #entries, 3 do
    local since = entries[k + 2]
    if d[1] == entries[k] and d[8] == entries[k + 1]
      and (since == '' or tonumber(d[3], 36) * 1000 <= tonumber(since)) then
      gone = true
    end
  end
  if gone then removed[#removed + 1] = d[1] else list[#list + 1] = d end
end
if #removed == 0 then return {removed, {}} end
return {removed, change_devices(KEYS[1], KEYS[2], ARGV[1], before, list, {})}
