-- category: where the places of a category are.
--
-- A place in the user's timeline whose message has a category is also in the set of the user and
-- that category, in the same form. So a rule of a category reads no places of other categories.

-- places_of returns the key of the set of a category, by its name.
local function places_of(name)
  local prefix, user = string.match(timeline, '^([^}]*}:)%l:(.*)$')
  return prefix .. 'c:' .. name .. ':' .. user
end
