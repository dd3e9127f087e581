-- devices: reads and writes the devices of a user, see package devices.
--
-- Defines base36, read_devices and write_devices.
local DEVICE = '^(%S+) (%a) (%w+) (%w*) (%S*) (%S*) (%S*) (%S+)$'
local DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

-- base36 writes a whole number, not below 0, in base 36.
local function base36(n)
  local digits = {}
  repeat
    local digit = n % 36
    table.insert(digits, 1, string.sub(DIGITS, digit + 1, digit + 1))
    n = (n - digit) / 36
  until n == 0
  return table.concat(digits)
end

-- read_devices returns the devices in their order, each as a list of the eight fields of its line.
-- A line that only a newer program can read is a list of one.
local function read_devices(key)
  local list = {}
  for line in string.gmatch(redis.call('GET', key) or '', '[^\n]+') do
    local d = {string.match(line, DEVICE)}
    list[#list + 1] = d[1] and d or {line}
  end
  return list
end

-- write_devices stores devices in the form of read_devices.
local function write_devices(key, list)
  if #list == 0 then return redis.call('DEL', key) end
  local lines = {}
  for k, d in ipairs(list) do lines[k] = table.concat(d, ' ') end
  redis.call('SET', key, table.concat(lines, '\n'))
end
