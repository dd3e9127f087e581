-- device/remove_gone.lua: removes devices of a user that their providers know no more,
-- unless they were registered again.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- ARGV[1..]  for each device its id, the address that is gone, and since when, Unix ms; "" for
--          a provider that does not say it
--
-- Returns  ids of those that it removed.
-- Cost     O(n * m) in the user's devices and those that are gone.

if #KEYS ~= 1 or #ARGV < 3 or #ARGV % 3 ~= 0 then
  return redis.error_reply('ERR device/remove_gone.lua: wrong number of keys or arguments')
end

--@include devices
local entries = {unpack(ARGV, 1)}
local list, removed = {}, {}
for _, d in ipairs(read_devices(KEYS[1])) do
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
if #removed > 0 then write_devices(KEYS[1], list) end
return removed
