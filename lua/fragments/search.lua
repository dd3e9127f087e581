-- search: finds the next free time before or after a time.
--
-- Placing t breaks a sliding rule "limit per window" exactly if `limit` neighbours
-- e_i ... e_j, in order, with e_j - e_i < window satisfy
-- e_j - window < t < e_i + window. Each such group forbids an open interval. A full
-- natural period, a full day and quiet hours forbid themselves. The search jumps from the end of
-- one forbidden interval to the end of the next until nothing forbids. Downwards it
-- does the same on the mirrored axis u = -t.
--@include quiet
--@include near
--@include full_day
local WORK = 7000 -- steps of one call, before a search stops

-- taken_in returns the taken times, ascending on a search's axis.
local function taken_in(direction, taken)
  local times = {}
  for k = 1, taken and #taken or 0 do
    times[#times + 1] = direction * taken[k]
  end
  table.sort(times)
  return times
end

-- new_search(rules, direction, from, excluded, readers, taken) returns
-- next_free(last), take_it() and take(time, category).
--
-- next_free returns the first free time from the cursor on up to `last`, or nil if
-- there is none; then nil; then what first forbade an earlier time: the number of the
-- rule, or 0 for quiet hours. If the work is used up, or other rules apply from there
-- on, it returns nil and where it is.
-- take_it counts the time just found as taken, take any time, by a message of a category.
--
-- `rules`, see fragments/policy.lua, and quiet hours decide what is free.
-- Reservations in the set `excluded` do not count. `readers` has what violations()
-- read around `from`, by list; it is not read again. `taken` has times, ascending, that
-- count as reserved by messages of the category of the rules. It is for searches without
-- readers.
local function new_search(rules, direction, from, excluded, readers, taken)
  local limits, windows, lists = rules.limits, rules.windows, lists_of(rules)
  local of_list, all, u = {}, {}, direction * from
  for r = 1, rules.count do
    local list = lists[r]
    if not of_list[list] then
      local reader = readers and readers[list]
        or new_reader(list, direction, excluded, taken_in(direction, taken))
      of_list[list], all[#all + 1] = reader, reader
    end
  end
  local open_till = {} -- the end of the last natural period of a rule that was not full

  local function period_of(kind, v)
    if direction > 0 then return period(kind, v) end
    local a, b = period(kind, -v)
    return 1 - b, 1 - a
  end

  local function forbidden_until(r) -- the end of what rule r forbids at u
    local limit, window, reader = limits[r], windows[r], of_list[lists[r]]
    spent = spent + 4
    if window < 0 then
      if open_till[r] and u < open_till[r] then return false end
      spent = spent + 8
      local from_u, till = period_of(-window, u)
      local a, b = from_u, till
      if direction < 0 then a, b = 1 - till, 1 - from_u end
      local count, taking = count_of(reader.list, window, a, b, excluded), reader.taken
      if taking[1] then count = count + less(taking, till) - less(taking, from_u) end
      if count >= limit then return till end
      open_till[r] = till
      return false
    end
    cover(reader, u)
    local times, beyond = reader.times, reader.beyond
    -- Of the groups that it has read, the last forbids the longest. The steps to the
    -- last place within the window double, then halve.
    local last, step = beyond - 1, 1
    while times[last + step] and times[last + step] < u + window do last, step = last + step, 2 * step end
    if step > 4 then spent = spent + 6 end
    while step > 1 do
      step = step / 2
      if times[last + step] and times[last + step] < u + window then last = last + step end
    end
    for j = last, math.max(limit, beyond - 1), -1 do
      local from = times[j - limit + 1]
      spent = spent + 1
      if from <= u - window then return false end
      if times[j] - from < window then return from + window end
    end
    return false
  end

  local times = not rules.exempt and quiet_in(rules.category)
  local function quiet_until() -- the end of the quiet hours at u
    spent = spent + (times and 6 or 1)
    local at = past_quiet(times, direction, direction * u)
    return at and direction * at
  end

  -- The end of the day at u, if that is full. Times that are taken count.
  local set, own, day_open_till = set_of(rules), taken_in(direction, taken), -math.huge
  local function full_until()
    spent = spent + 1
    if u < day_open_till then return false end
    local a = direction * u - direction * u % DAY
    local from_u, till = a, a + DAY
    if direction < 0 then from_u, till = 1 - a - DAY, 1 - a end
    local found = less(own, till) - less(own, from_u)
    if filled(set, a, found, excluded) then return till end
    day_open_till = till
    return false
  end

  local first = times and 0 or 1 -- 0 stands for quiet times
  local final = most_places and rules.count + 1 or rules.count -- the last for full days
  local beyond = direction > 0 and during_till or 1 - during_from -- where other rules apply
  local function next_free(last)
    local last_u = direction * last
    local held = first -- how many in a row let u pass
    local r, in_the_way, handed_back = first, nil, nil
    while u <= last_u and u < beyond and held <= final do
      -- Never at its start: a search that continues there would not end.
      if spent > WORK and u ~= direction * from then
        handed_back = direction * u
        break
      end
      local till
      if r == 0 then
        till = quiet_until()
      elseif r <= rules.count then
        till = forbidden_until(r)
      else
        till = full_until()
      end
      if till then
        u, held, in_the_way = till, first, in_the_way or r
      else
        held = held + 1
        r = r < final and r + 1 or first
      end
    end
    if u >= beyond and beyond <= last_u then handed_back = direction * beyond end
    if handed_back then return nil, handed_back, in_the_way end
    if u > last_u then return nil, nil, in_the_way end
    return direction * u, nil, in_the_way
  end

  local function take(time, category)
    local v = direction * time
    open_till, day_open_till = {}, -math.huge
    table.insert(own, less(own, v + 1) + 1, v)
    for k = 1, #all do
      local reader = all[k]
      if not reader.list.category or reader.list.category == category then
        table.insert(reader.taken, less(reader.taken, v + 1) + 1, v)
        if v < reader.known then reader.next_taken = reader.next_taken + 1 end
        if v < reader.known and v >= reader.start then
          local i = less(reader.times, v + 1) + 1
          table.insert(reader.times, i, v)
          reader.count = reader.count + 1
          if i <= reader.beyond and v <= u then reader.beyond = reader.beyond + 1 end
        end
      end
    end
  end

  local function take_it() take(direction * u, rules.category) end

  return next_free, take_it, take
end
