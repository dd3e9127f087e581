-- quiet: hours in which nothing is to be sent.
--
--   quiet  "" for none; else the offsets of their time zone, see
--          fragments/zone.lua, then "|", then begin and end of each quiet stretch,
--          ms of the local week, which begins on Monday, ascending:
--          "|0 28800000 79200000 86400000". Stretches do not touch, and are never
--          the whole week.
--
-- A moment is quiet if local clocks then show a quiet time. A time that they skip does
-- not occur; one that they show twice is quiet twice.
local quiet_from, quiet_till, quiet_zone = {}, {}, nil
if quiet ~= '' then
  local zone_offsets, hours = string.match(quiet, '^(.*)|(.*)$')
  quiet_zone = zone_of(zone_offsets)
  for from, till in string.gmatch(hours, '(%S+) (%S+)') do
    quiet_from[#quiet_from + 1], quiet_till[#quiet_till + 1] = tonumber(from), tonumber(till)
  end
end

-- past_quiet returns the first moment from t on that is not quiet, upwards in
-- direction 1, downwards in -1; false if t itself is not quiet.
local function past_quiet(direction, t)
  if not quiet_zone then return false end
  local hopped = false
  while true do
    local s = stretch_at(quiet_zone, t)
    local l = (t + quiet_zone.offset[s] - MONDAY) % WEEK
    local k, beyond = 1, #quiet_till + 1 -- the first that ends after l is in k to beyond
    while k < beyond do
      local middle = math.floor((k + beyond) / 2)
      if quiet_till[middle] <= l then k = middle + 1 else beyond = middle end
    end
    if not quiet_from[k] or quiet_from[k] > l then return hopped end
    -- To the end of this stretch, or to a clock change before it.
    if direction > 0 then
      t = math.min(t + quiet_till[k] - l, quiet_zone.from[s + 1] or math.huge)
    else
      t = math.max(t - l + quiet_from[k], quiet_zone.from[s]) - 1
    end
    hopped = t
  end
end

-- is_quiet reports whether t is in quiet hours that apply with these rules, see
-- fragments/policy.lua.
local function is_quiet(rules, t)
  return not rules.exempt and past_quiet(1, t) ~= false
end
