-- device/add.lua: registers a device of a user, or registers it again.
--
-- KEYS[1]  devices of the user (STRING), see lua/fragments/devices.lua
-- KEYS[2]  counts of the partition (HASH), see lua/fragments/device_counts.lua
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  id of the device
-- ARGV[3]  letter of its channel, in lower case
-- ARGV[4]  app; "" for none, here and below
-- ARGV[5]  locale
-- ARGV[6]  account
-- ARGV[7]  address
-- ARGV[8]  how many devices of an account a user may have
-- ARGV[9]  user
-- ARGV[10] 1 if the account may have more devices than now, else 0
--
-- Returns  {2, time, success, counts, {}} added; {1, time, success, counts, replaced} it replaced
--          devices with the same id or address; {0, time, success, counts, {}} only its time
--          changed, and it is not suspect; {-1} the account has the maximum number of the user's
--          devices; {-2} another account has a device with the id; {-3} the account may not have
--          more devices than now. The time is that of its registration, Unix seconds; success is
--          as in its line; counts are {account, devices in the partition, ...} for changed
--          counts; replaced has the id, the letter of the channel, the account and the address of
--          each replaced device with another address.
-- Cost     O(n) in the user's devices.

if #KEYS ~= 2 or #ARGV ~= 10 then
  return redis.error_reply('ERR device/add.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include devices
--@include device_counts
local seconds = (now - now % 1000) / 1000
local id, channel, account, address = ARGV[2], ARGV[3], ARGV[6], ARGV[7]
local added = {id, channel, base36(seconds), '', ARGV[4], ARGV[5], account, address}

local before, list, own, owned, replaced, same = read_devices(KEYS[1]), {}, 0, 0, 0, false
local addresses = {}
for _, d in ipairs(before) do
  local at_address = d[8] == address and string.lower(d[2]) == channel
  local shared = at_address and (d[7] == account or d[7] == '' or account == '')
  if d[1] == id and d[7] ~= account and not shared then return {-2} end
  if d[7] == account then own = own + 1 end
  if d[1] == id or shared then
    if d[7] == account then owned = owned + 1 end
    if replaced == 0 then list[#list + 1] = added end
    replaced = replaced + 1
    same = d[1] == id and at_address and d[5] == added[5] and d[6] == added[6] and d[7] == account
    if at_address and d[4] ~= '' then added[4] = d[4] end
    if not at_address then
      for _, text in ipairs({d[1], string.lower(d[2]), d[7], d[8]}) do addresses[#addresses + 1] = text end
    end
  else
    list[#list + 1] = d
  end
end
if replaced == 0 then
  if own >= tonumber(ARGV[8]) then return {-1} end
  list[#list + 1] = added
end
if owned == 0 and ARGV[10] == '0' then return {-3} end
local counts = change_devices(KEYS[1], KEYS[2], ARGV[9], before, list, {})
if replaced == 0 then return {2, seconds, '', counts, {}} end
return {same and replaced == 1 and 0 or 1, seconds, added[4], counts, addresses}
