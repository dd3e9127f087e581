-- judge_near: judges a message again that the first look of reserve.lua has not accepted, where
-- few places matter. It sets free, or returns the refusal with the next free times.
--
-- Its answer is that of fragments/decision.lua, in a third to half of the time: the code for
-- other cases is not even defined. It leaves these to that code: more than MOST places, a long
-- search, a shift, quiet hours, rules of categories, natural weeks and months, a change of
-- clocks or rules nearby, days that may be full if free times are asked for, and an id that
-- has a place.
--
-- Needs the locals of place/reserve.lua; sized, the window of a rule that may break; near, if
-- few, all places that the rules look at.
if ARGV[6] == '' and ARGV[7] == '' and (ARGV[15] == '' or ARGV[15] == '-')
    and not string.find(ARGV[5], '|', 1, true)
    and (ARGV[15] == '-' or most == '' or call('ZCARD', timeline) - most < 0) and not call('ZSCORE', timeline, id) then
  local MOST, MOST_CONFLICTS, HOPS, DAY, UNITS = 48, 10, 32, 86400000, {60000, 3600000, 86400000}
  local t, limits, windows, counts, rules, widest = asked, {}, {}, {}, 0, 0
  local looked_from, looked_till = tonumber(ARGV[12]), ARGV[13] + 1
  for limit, window in string.gmatch(ARGV[4], '(%S+) (%S+)') do
    rules = rules + 1
    limits[rules], windows[rules] = tonumber(limit), tonumber(window)
    if windows[rules] > widest then widest = windows[rules] end
  end
  -- The stretch of the zone that t is in, see fragments/zone.lua.
  local offset, shown_from, shown_till = 0, -math.huge, math.huge
  if ARGV[5] ~= '' then
    local begun = false
    for from, shown in string.gmatch(ARGV[5], '(%S+) (%S+)') do
      from = tonumber(from)
      if begun and from > t then
        shown_till = from
        break
      end
      offset, shown_from, begun = tonumber(shown), begun and from or -math.huge, true
    end
  end

  -- period returns the natural period that a time is in, or nil if it is not a common one
  -- at least a day away from changes of clocks.
  local function period(window, time)
    local unit = UNITS[-window]
    if not unit then return nil end
    local from = time - (time + offset) % unit
    if from - DAY < shown_from or from + unit + DAY > shown_till then return nil end
    return from, from + unit
  end

  -- count returns how many places are in a natural period of rule r. There is no need to
  -- count where the first look found fewer than the limit.
  local function count(r, from, till)
    if neighbours < limits[r] and from >= looked_from and till <= looked_till then return 0 end
    local known = counts[r]
    if not known then
      known = {}
      counts[r] = known
    end
    local n = known[from]
    if not n then
      n = call('ZCOUNT', timeline, string.format('%.0f', from), string.format('%.0f', till - 1))
      known[from] = n
    end
    return n
  end

  -- read returns ids and times of the places from first to last, or nil if there are many.
  local function read(first, last)
    local found = call('ZRANGE', timeline, string.format('%.0f', first), string.format('%.0f', last),
      'BYSCORE', 'LIMIT', '0', MOST + 1, 'WITHSCORES')
    return #found <= 2 * MOST and found or nil
  end

  -- next_free returns the next free time from t on in a direction, 0 if there is none up to
  -- last, or nil if it gives up. On its axis, see fragments/search.lua, times are all places
  -- before `till` that matter.
  local function next_free(direction, last, times, till)
    local u, held, r, n, last_u = direction * t, 0, 1, #times, direction * last
    for _ = 1, HOPS do
      if u > last_u then return 0 end
      if held == rules then return direction * u end
      local limit, window, hop = limits[r], windows[r], nil
      if window < 0 then
        local a, b = period(window, direction * u)
        if not a then return nil end
        if count(r, a, b) >= limit then hop = direction > 0 and b or 1 - a end
      else
        if u + widest > till then
          if u - widest >= till then times, n, till = {}, 0, u - widest + 1 end
          local further = u + widest + sized
          local found
          if direction > 0 then found = read(till, further - 1) else found = read(1 - further, -till) end
          if not found then return nil end
          if direction > 0 then
            for k = 2, #found, 2 do times[n + k / 2] = tonumber(found[k]) end
          else
            for k = #found, 2, -2 do times[n + (#found - k) / 2 + 1] = -found[k] end
          end
          n, till = n + #found / 2, further
        end
        for j = n, limit, -1 do
          local start, finish = times[j - limit + 1], times[j]
          if finish < u + window then
            if start <= u - window then break end
            if finish - start < window then
              hop = start + window
              break
            end
          end
        end
      end
      if hop then
        u, held = hop, 0
      else
        held = held + 1
        r = r < rules and r + 1 or 1
      end
    end
  end

  local reach_of_read = widest + sized
  -- Without free times, only what is within a window of t matters, and that has been read.
  if ARGV[15] ~= '-' or not few then
    near = widest > 0 and read(t - reach_of_read + 1, t + reach_of_read - 1) or widest == 0 and {}
  end
  if near then
    local times, found, known = {}, {}, true
    for k = 2, #near, 2 do times[k / 2] = tonumber(near[k]) end
    for r = 1, rules do
      local limit, window, violation = limits[r], windows[r], nil
      if window < 0 then
        local from, till = period(window, t)
        known = known and from
        local total = from and count(r, from, till) or 0
        if total >= limit then
          violation = call('ZRANGE', timeline, string.format('%.0f', from), string.format('%.0f', till - 1),
            'BYSCORE', 'LIMIT', '0', MOST_CONFLICTS, 'WITHSCORES')
          for k = #violation, 2, -2 do
            violation[k + 4], violation[k + 3] = tonumber(violation[k]), violation[k - 1]
          end
          violation[1], violation[2], violation[3], violation[4] = r, total, from, till
        end
      else
        local i, j = 1, #times -- of all groups of places that t would break the rule with
        while i <= j and times[i] <= t - window do i = i + 1 end
        while j >= i and times[j] >= t + window do j = j - 1 end
        while i + limit - 1 <= j and times[i + limit - 1] - times[i] >= window do i = i + 1 end
        if i + limit - 1 <= j then
          while times[j] - times[j - limit + 1] >= window do j = j - 1 end
          violation = {r, j - i + 1, 0, 0}
          for k = i, math.min(j, i + MOST_CONFLICTS - 1) do
            violation[#violation + 1], violation[#violation + 2] = near[2 * k - 1], times[k]
          end
        end
      end
      if violation then found[#found + 1] = violation end
    end
    if not known then
      free = false
    elseif #found == 0 then
      free = true
    else
      local after, before = 0, 0
      if ARGV[15] == '' then
        local n, mirrored = #times, {}
        for k = 1, n do mirrored[k] = -times[n + 1 - k] end
        after = next_free(1, now + reach_ms, times, t + reach_of_read)
        if after and t > now then before = next_free(-1, now, mirrored, reach_of_read - t) end
      end
      if after and before then
        return {1, now, t, 0, after, 0, before, 0, '', unpack(found)} -- 1: SEND_LIMIT
      end
    end
  end
end
