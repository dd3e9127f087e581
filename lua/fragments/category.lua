-- category: the category of a message of the user, from its record.
--
-- Needs timeline. A call looks each message up once. Defines records_prefix, the
-- start of the keys of the user's records.
local of_message = {}
local records_prefix = string.gsub(timeline, '^([^}]*}:)[^:]+:', '%1m:', 1)
records_prefix = records_prefix .. ':'

-- category_of returns a message's category, false for none. If the message has no
-- record there, it reads the one whose key begins with other, if that is given.
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
