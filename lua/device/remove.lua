-- device/remove.lua: removes a device of a user.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- ARGV[1]  id of the device
-- ARGV[2]  the account that must have registered it; "*" for any
--
-- Returns  1 removed; 0 no such device.
-- Cost     O(n) in the user's devices.

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR device/remove.lua: wrong number of keys or arguments')
end

--@include devices
local list, removed = {}, 0
for _, d in ipairs(read_devices(KEYS[1])) do
  if d[1] == ARGV[1] and (ARGV[2] == '*' or ARGV[2] == d[7]) then
    removed = 1
  else
    list[#list + 1] = d
  end
end
if removed == 1 then write_devices(KEYS[1], list) end
return removed
