-- device/suspect.lua: marks devices of a user as suspect, or removes the mark.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- ARGV[1]  1 marks, 0 removes the mark
-- ARGV[2..]  ids of the devices
--
-- Returns  how many changed.
-- Cost     O(n * m) in the user's devices and the ids.

if #KEYS ~= 1 or #ARGV < 2 then
  return redis.error_reply('ERR device/suspect.lua: wrong number of keys or arguments')
end

--@include devices
local ids = {unpack(ARGV, 2)}
local spell = ARGV[1] == '1' and string.upper or string.lower
local list, changed = read_devices(KEYS[1]), 0
for _, d in ipairs(list) do
  for _, id in ipairs(ids) do
    if d[1] == id and d[2] and spell(d[2]) ~= d[2] then
      d[2] = spell(d[2])
      changed = changed + 1
    end
  end
end
if changed > 0 then write_devices(KEYS[1], list) end
return changed
