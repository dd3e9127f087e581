-- device_counts: accounts' numbers of devices of the users of a partition.
--
-- The counts are a HASH with the fields
--
--   <account> <user>  devices of the user that the account registered; absent for none
--   <account>         sum of these in the partition; 0 stays, for the total of the account
--
-- Devices of no account are not counted. Needs fragments/devices.lua. Defines change_devices.

-- change_devices writes the devices of a user, and the counts of the accounts that have some before
-- or after, or are in `others`. `after` may be `before`, to correct only counts. It returns
-- {account, its sum, ...} for each changed sum. A log that is torn between the commands counts too
-- many, never too few: a recount finds each device by its count.
local function change_devices(devices, counts, user, before, after, others)
  local accounts, number, fields = {}, {}, {}
  local function add(account, n)
    if not account or account == '' then return end
    if not number[account] then
      number[account], accounts[#accounts + 1] = 0, account
      fields[#fields + 1], fields[#fields + 2] = account, table.concat({account, ' ', user})
    end
    number[account] = number[account] + n
  end
  for _, d in ipairs(before) do add(d[7], 0) end
  for _, d in ipairs(after) do add(d[7], 1) end
  for _, account in ipairs(others) do add(account, 0) end

  local had = fields[1] and redis.call('HMGET', counts, unpack(fields))
  local changed, none, sums, more = {}, {}, {}, false
  for k, account in ipairs(accounts) do
    local field, n = fields[2 * k], number[account]
    local counted = tonumber(had[2 * k] or 0)
    if n ~= counted then
      local sum = math.max(tonumber(had[2 * k - 1] or 0) + n - counted, 0)
      sums[#sums + 1], sums[#sums + 2] = account, sum
      changed[#changed + 1], changed[#changed + 2] = account, sum
      changed[#changed + 1], changed[#changed + 2] = field, n
      more = more or n > counted
    end
    if n == 0 and had[2 * k] then none[#none + 1] = field end
  end

  if more then redis.call('HSET', counts, unpack(changed)) end
  if after ~= before then write_devices(devices, after) end
  if changed[1] and not more then redis.call('HSET', counts, unpack(changed)) end
  if none[1] then redis.call('HDEL', counts, unpack(none)) end
  return sums
end
