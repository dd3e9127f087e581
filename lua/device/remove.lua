-- device/remove.lua: removes devices of a user.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- KEYS[2]  counts of the partition (HASH), see lua/fragments/device_counts.lua
-- ARGV[1]  user
-- ARGV[2..]  for each device its id, "" for any; the account that must have registered it, "*" for
--          any; its address, "" for any; and the time that it must not have been registered after,
--          Unix ms, "" for any
--
-- Returns  {removed, counts}: of each removed device its id, the letter of its channel, its account
--          and its address; and {account, devices in the partition, ...} for changed counts.
-- Cost     O(n * m) in the user's devices and those to remove.

if #KEYS ~= 2 or #ARGV < 5 or #ARGV % 4 ~= 1 then
  return redis.error_reply('ERR device/remove.lua: wrong number of keys or arguments')
end
--@include moving

--@include devices
--@include device_counts
local entries = {unpack(ARGV, 2)}
local before, list, removed = read_devices(KEYS[1]), {}, {}
for _, d in ipairs(before) do
  local remove = false
  for k = 1, #entries, 4 do
    local id, account, address, since = unpack(entries, k, k + 3)
    remove = remove or #d > 1 and (id == '' or id == d[1]) and (account == '*' or account == d[7])
      and (address == '' or address == d[8]) and (since == '' or tonumber(d[3], 36) * 1000 <= tonumber(since))
  end
  if remove then
    for _, text in ipairs({d[1], string.lower(d[2]), d[7], d[8]}) do removed[#removed + 1] = text end
  else
    list[#list + 1] = d
  end
end
if #removed == 0 then return {removed, {}} end
return {removed, change_devices(KEYS[1], KEYS[2], ARGV[1], before, list, {})}
