-- search: finds the next free time before or after a time.
--
-- Placing t breaks a sliding rule "limit per window" exactly if `limit` neighbours
-- e_i ... e_j, in order, with e_j - e_i < window satisfy
-- e_j - window < t < e_i + window. Each such group forbids an open interval. A full
-- natural period and quiet hours forbid themselves. The search jumps from the end of
-- one forbidden interval to the end of the next until nothing forbids. Downwards it
-- does the same on the mirrored axis u = -t.
--@include quiet
--@include category
local WORK = 100000 -- steps of all searches of one call, before one stops
local LOOK_UP = 16 -- steps that looking up one message's category is worth
local spent = 0 -- steps taken so far, without reads around the starts

-- new_search(rules, direction, from, excluded, near, taken) returns
-- next_free(last) and take_it().
--
-- next_free returns the first free time from the cursor on up to `last`, or nil if
-- there is none; then nil; then what first forbade an earlier time: the number of the
-- rule, or 0 for quiet hours. If the work is used up, or other rules apply from there
-- on, it returns nil and where it is.
-- take_it counts the time just found as taken.
--
-- `rules`, see fragments/policy.lua, and quiet hours decide what is free.
-- Reservations in the set `excluded` do not count. `near` is what violations() read
-- around `from`; it is not read again. `taken` has times, ascending, that count as
-- reserved by the messages in its `ids`, or without ids by messages of the category
-- of the rules. It is for searches upwards without `near`.
local function new_search(rules, direction, from, excluded, near, taken)
  local limits, windows, overall = rules.limits, rules.windows, rules.overall
  local entries, ids, mine, count = {}, {}, {}, 0 -- mine: whether it is of the rules' category, once known
  local next_taken = 1
  local tail, same, more = nil, 0, true -- the last score read, and how often
  local chunk, work = 16, 0
  local charged -- the part of work not to add to spent; nil until the start is read
  local pointers = {}
  for r = 1, rules.count do pointers[r] = 1 end
  local u = direction * from

  local function period_of(kind, v)
    if direction > 0 then return period(kind, v) end
    local a, b = period(kind, -v)
    return 1 - b, 1 - a
  end

  local start = u
  for r = 1, rules.count do
    local window = windows[r]
    start = math.min(start, window > 0 and u - window + 1 or (period_of(-window, u)))
  end

  local known = -math.huge -- all entries below it are read
  if near then
    count = #near.times
    for k = 1, count do
      local at = direction > 0 and k or count + 1 - k
      entries[k], ids[k] = direction * near.times[at], near.ids[at]
    end
    start = direction > 0 and near.last + 1 or 1 - near.first
    known = start
  end

  local function take_up(bound) -- adds what is taken up to bound
    while taken and taken[next_taken] and taken[next_taken] <= bound do
      count = count + 1
      entries[count] = taken[next_taken]
      if taken.ids then ids[count] = taken.ids[next_taken] else mine[count] = true end
      next_taken = next_taken + 1
    end
  end

  local function load(bound) -- reads all entries below bound
    if bound <= known then return end
    while more and not (tail and tail >= bound) do
      local at = direction * (tail or start)
      local read
      if direction > 0 then
        read = redis.call('ZRANGE', timeline, at, '+inf', 'BYSCORE', 'LIMIT', same, chunk, 'WITHSCORES')
      else
        read = redis.call('ZRANGE', timeline, at, '-inf', 'BYSCORE', 'REV', 'LIMIT', same, chunk, 'WITHSCORES')
      end
      more = #read == 2 * chunk
      for k = 2, #read, 2 do
        local e = direction * read[k]
        if e == tail then same = same + 1 else tail, same = e, 1 end
        take_up(e)
        if not (excluded and excluded[read[k - 1]]) then
          count = count + 1
          entries[count], ids[count] = e, read[k - 1]
        end
      end
      if not more then take_up(math.huge) end
      work = work + 4 * chunk
      chunk = math.min(2 * chunk, 512)
    end
  end

  local function is_mine(k)
    if mine[k] == nil then
      work = work + LOOK_UP
      mine[k] = category_of(ids[k], rules.copied) == rules.category
    end
    return mine[k]
  end

  -- in_category returns the entries from index i on, below bound, that a category's
  -- rule counts; nil if all categories together are fewer than its limit.
  local function in_category(i, bound, limit)
    local last = entries[i + limit - 1]
    if not last or last >= bound then return nil end
    local times = {}
    while i <= count and entries[i] < bound do
      if is_mine(i) then times[#times + 1] = entries[i] end
      i = i + 1
      work = work + 1
    end
    return times
  end

  local function forbidden_until(r) -- the end of what rule r forbids at u
    local limit, window, i = limits[r], windows[r], pointers[r]
    if window < 0 then
      local from_u, till = period_of(-window, u)
      load(till)
      while i <= count and entries[i] < from_u do i = i + 1 end
      work = work + i - pointers[r] + 1
      pointers[r] = i
      if r > overall then
        local times = in_category(i, till, limit)
        return times and times[limit] and till
      end
      local last = entries[i + limit - 1]
      return last and last < till and till
    end
    load(u + window)
    while i <= count and entries[i] <= u - window do i = i + 1 end
    work = work + i - pointers[r] + 1
    pointers[r] = i
    local times, n = entries, count
    if r > overall then
      times = in_category(i, u + window, limit)
      if not times then return false end
      i, n = 1, #times
    end
    local till, j = false, i + limit - 1
    while j <= n and times[j] < u + window do
      if times[j] - times[i] < window then till = times[i] + window end
      i, j = i + 1, j + 1
      work = work + 1
    end
    return till
  end

  local times = not rules.exempt and quiet_in(rules.category)
  local function quiet_until() -- the end of the quiet hours at u
    work = work + 1
    local at = past_quiet(times, direction, direction * u)
    return at and direction * at
  end

  local first = times and 0 or 1 -- 0 stands for quiet times
  local beyond = direction > 0 and during_till or 1 - during_from -- where other rules apply
  local function next_free(last)
    local last_u = direction * last
    local held = first -- how many in a row let u pass
    local r, in_the_way, handed_back = first, nil, nil
    local most = charged and charged + WORK - spent -- the most that work may reach
    while u <= last_u and u < beyond and held <= rules.count do
      -- Never at its start: a search that continues there would not end.
      if most and work > most and u ~= direction * from then
        handed_back = direction * u
        break
      end
      local till
      if r == 0 then till = quiet_until() else till = forbidden_until(r) end
      if r > 0 and not most then charged, most = work, work + WORK - spent end
      if till then
        u, held, in_the_way = till, first, in_the_way or r
      else
        held = held + 1
        r = r < rules.count and r + 1 or first
      end
    end
    if charged then spent, charged = spent + work - charged, work end
    if u >= beyond and beyond <= last_u then handed_back = direction * beyond end
    if handed_back then return nil, handed_back end
    if u > last_u then return nil, nil, in_the_way end
    return direction * u, nil, in_the_way
  end

  local function take_it()
    local i = count
    while i >= 1 and entries[i] > u do
      entries[i + 1], ids[i + 1], mine[i + 1] = entries[i], ids[i], mine[i]
      i = i - 1
    end
    entries[i + 1], ids[i + 1], mine[i + 1] = u, nil, true
    count = count + 1
  end

  return next_free, take_it
end
