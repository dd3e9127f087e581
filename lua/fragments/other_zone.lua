-- other_zone: finds messages whose send times were read in a zone that is not the user's any more.
--
-- A message that keeps its local time has the field W "f time zone ..." if it was read in the user's
-- own zone, and "d time zone ..." if in a default, which may change. Other values do not begin so.

-- other_zone reports whether a message with this field W, if any, has to be read in the zone own, nil
-- if the user has none.
local function other_zone(local_time, own)
  local letter, zone = string.match(local_time or '', '^([fd]) %S+ (%S+)')
  return letter and (letter == 'f' and zone or false) ~= (own or false)
end
