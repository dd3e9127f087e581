-- category: which category a message of the user is of, by its record.
--
-- Needs timeline. What was looked up is remembered within the call. Gives
-- records_prefix, which begins the keys of the user's records.
local of_message = {}
local records_prefix = string.gsub(timeline, '^([^}]*}:)[^:]+:', '%1m:', 1)
records_prefix = records_prefix .. ':'

-- category_of gives a message's category, false for none. Where it has no record
-- there, it is looked for among those whose keys begin with other, if given.
local function category_of(message, other)
  local category = of_message[message]
  if category ~= nil then return category end
  local suffix = string.gsub(message, ':', '/')
  local r = redis.call('HMGET', records_prefix .. suffix, 'g', 'k')
  if not r[1] and other then r = redis.call('HMGET', other .. suffix, 'g', 'k') end
  category = r[2]
  of_message[message] = category
  return category
end
