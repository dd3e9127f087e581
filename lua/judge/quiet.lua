-- quiet: times at which nothing is sent.
--
--   quiet  "" for none. It may begin with "until~wanted~": before which time the user is not
--          disturbed, Unix ms, "" for none; and, for scripts that find the category themselves,
--          the exempt categories of the policy: " otp  codes ". Then, if times are quiet, the
--          offsets of their time zone, see judge/zone.lua, "|", begin and end of each quiet
--          stretch of the week, in ms of the local week, which begins on Monday, "|", and
--          begin and end of each stretch of dates, in local ms since 1970; all ascending.
--          Stretches of a kind do not touch:
--          "|0 28800000 79200000 86400000|1829779200000 1829865600000". For the rules of
--          all categories, a part "name|week|dates" follows after ";" for each category
--          with quiet times of its own, and one with the name * for the user's own quiet hours.
--
-- A moment is quiet if local clocks show a quiet time. A time that they skip does not occur; one
-- that they show twice is quiet twice.
--@include judge/zone
if quiet ~= '' then
  local disturb, wanted, rest = string.match(quiet, '^(%d*)~([^~]*)~(.*)$')
  if rest then
    -- Only times from now on are judged.
    q.disturb_from, q.wanted, quiet = tonumber(disturb), wanted, rest
    if q.disturb_from and q.disturb_from <= now then q.disturb_from = nil end
  end
end
if quiet ~= '' then
  local known, zone, of_zone = {}, nil, clocks_of_zone()

  local function stretches_in(words)
    local found = {from = {}, till = {}}
    for from, till in string.gmatch(words, '(%S+) (%S+)') do
      found.from[#found.from + 1], found.till[#found.till + 1] = tonumber(from), tonumber(till)
    end
    return found
  end

  -- quiet_in returns the quiet times of the rules for a category, nil for none; false if there are
  -- none.
  function q.quiet_in(category)
    local name = category or ''
    if known[name] ~= nil then return known[name] end
    local offsets_of_zone, week, dates, others = string.match(quiet, '^([^|]*)|([^|;]*)|([^|;]*)(.*)$')
    for other, own_week, own_dates in string.gmatch(others, ';([^|]*)|([^|;]*)|([^|;]*)') do
      if other == name then week, dates = own_week, own_dates end
    end
    zone = zone or of_zone.zone_of(offsets_of_zone)
    local times = {week = stretches_in(week), dates = stretches_in(dates)}
    times.always = times.week.from[1] == 0 and times.week.till[1] == WEEK
    known[name] = (#times.week.from > 0 or #times.dates.from > 0) and times
    return known[name]
  end

  -- first_after returns the number of the first stretch that ends after a local time.
  local function first_after(found, l)
    local k, beyond = 1, #found.till + 1
    while k < beyond do
      local middle = math.floor((k + beyond) / 2)
      if found.till[middle] <= l then k = middle + 1 else beyond = middle end
    end
    return k
  end

  -- stretch_around returns begin and end of the stretch that contains a local time; nil for none.
  local function stretch_around(found, l)
    local k = first_after(found, l)
    if found.from[k] and found.from[k] <= l then return found.from[k], found.till[k] end
  end

  -- way_to returns how far the next stretch is from a local time outside all of them, in a
  -- direction. The stretches of a week repeat after `again` ms.
  local function way_to(found, l, direction, again)
    local k, count = first_after(found, l), #found.from
    if count == 0 or not again and not found.from[direction > 0 and k or k - 1] then return math.huge end
    if direction > 0 then return (found.from[k] or found.from[1] + again) - l end
    return l + 1 - (found.till[k - 1] or found.till[count] - again)
  end

  -- next_quiet returns the first quiet moment from t on in a direction, up to or down to `last`;
  -- nil for none.
  local function next_quiet(times, direction, t, last)
    while direction * (last - t) >= 0 do
      local s = of_zone.stretch_at(zone, t)
      local l = t + zone.offset[s]
      local of_week = (l - MONDAY) % WEEK
      if stretch_around(times.week, of_week) or stretch_around(times.dates, l) then return t end
      local way = math.min(way_to(times.week, of_week, direction, WEEK), way_to(times.dates, l, direction))
      if direction > 0 then
        t = math.min(t + way, zone.from[s + 1] or math.huge)
      else
        t = math.max(t - way, zone.from[s] - 1)
      end
    end
  end

  -- past_delay returns the first moment from t on that a spread shift may use after the last quiet
  -- time before t, see judge/spread.lua. t is not quiet.
  function q.past_delay(times, t, spread)
    local before = next_quiet(times, -1, t, math.max(spread.asked, t - spread.over, q.during_from))
    if not before then return t end
    local from = before + 1
    local till = math.min(q.during_till, spread.last + 1, from + spread.over)
    till = next_quiet(times, 1, from, till - 1) or till
    q.spent = q.spent + 16
    return math.max(t, from + spread.key % (till - from))
  end

  -- past_quiet returns the first moment from t on that is not quiet, upwards in direction 1,
  -- downwards in -1; false if t itself is not quiet. If all times are quiet, the result is
  -- infinite.
  function q.past_quiet(times, direction, t)
    if not times then return false end
    if times.always then return direction * math.huge end
    local hopped = false
    while true do
      local s = of_zone.stretch_at(zone, t)
      local l = t + zone.offset[s]
      local monday = l - (l - MONDAY) % WEEK
      local from, till = stretch_around(times.week, l - monday)
      if from then
        from, till = monday + from, monday + till
      else
        from, till = stretch_around(times.dates, l)
      end
      if not from then return hopped end
      -- To the end of this stretch, or to a clock change before it.
      if direction > 0 then
        t = math.min(t + till - l, zone.from[s + 1] or math.huge)
      else
        t = math.max(t + from - l, zone.from[s]) - 1
      end
      hopped = t
    end
  end
end
