-- own_places: the category of a new message, and the key of the category's places, see
-- judge/category.lua. Needs the KEYS and ARGV of place/reserve.lua.
local category_at = ARGV[15] == 'x' and 17 or 15
local category = record and ARGV[category_at] == 'k' and not string.find(timeline, '}:x:', 1, true)
  and ARGV[category_at + 1]
local places = category and (string.gsub(timeline, ':u:', ':c:' .. category .. ':', 1))
