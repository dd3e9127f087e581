-- device/note_success.lua: records that devices of a user accepted a push in this hour.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2..]  ids of the devices
--
-- Returns  how many it recorded; the others have the hour already, or do not exist. It writes
--          only if it recorded one.
-- Cost     O(n * m) in the user's devices and the ids.

if #KEYS ~= 1 or #ARGV < 2 then
  return redis.error_reply('ERR device/note_success.lua: wrong number of keys or arguments')
end

--@include clock
--@include devices
local ids = {unpack(ARGV, 2)}
local HOUR = 3600000 -- ms
local hour = (now - now % HOUR) / HOUR
local list, noted = read_devices(KEYS[1]), 0
for _, d in ipairs(list) do
  for _, id in ipairs(ids) do
    if d[1] == id and d[2] and (d[4] == '' or tonumber(d[4], 36) < hour) then
      d[4] = base36(hour)
      noted = noted + 1
    end
  end
end
if noted > 0 then write_devices(KEYS[1], list) end
return noted
