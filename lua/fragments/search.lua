-- search: finds the free time next to a time, in either direction.
--
-- Placing t breaks a sliding rule "limit per window" exactly when `limit`
-- neighbours e_i ... e_j, in order, with e_j - e_i < window satisfy
-- e_j - window < t < e_i + window. Each such group forbids an open interval, a
-- full natural period forbids itself, and the search hops from the end of one
-- forbidden interval to the end of the next until no rule forbids. Downwards
-- it does the same on the mirrored axis u = -t.
local WORK = 100000 -- steps one search may take before it hands back where it stood

-- new_search(direction, from, excluded, near, taken) returns next_free(last) and
-- take_it(): next_free gives the first free time from the cursor on up to
-- `last`, or nil if there is none; then nil, and the rule that first forbade an
-- earlier one. Or nil and where it stands when the work is used up. take_it
-- counts the time just found as taken. Reservations in the set `excluded` do not
-- count. What violations() has read around `from` is not read again where it is
-- given as `near`. Upwards, the times in `taken`, ascending, do as if they were
-- reserved; not together with `near`.
local function new_search(direction, from, excluded, near, taken)
  local entries, count = {}, 0
  local next_taken = 1
  local tail, same, more = nil, 0, true -- the last score read, and how often
  local chunk, work = 16, 0
  local budget -- what work may be, once what lies around the start has been read
  local pointers = {}
  for r = 1, rule_count do pointers[r] = 1 end
  local u = direction * from

  local function period_of(kind, v)
    if direction > 0 then return period(kind, v) end
    local a, b = period(kind, -v)
    return 1 - b, 1 - a
  end

  local start = u
  for r = 1, rule_count do
    local window = windows[r]
    start = math.min(start, window > 0 and u - window + 1 or (period_of(-window, u)))
  end

  local known = -math.huge -- every entry below is there
  if near then
    count = #near.times
    for k = 1, count do
      entries[k] = direction > 0 and near.times[k] or -near.times[count + 1 - k]
    end
    start = direction > 0 and near.last + 1 or 1 - near.first
    known = start
  end

  local function take_up(bound) -- adds what is taken up to bound
    while taken and taken[next_taken] and taken[next_taken] <= bound do
      count = count + 1
      entries[count] = taken[next_taken]
      next_taken = next_taken + 1
    end
  end

  local function load(bound) -- reads on until every entry below bound is there
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
          entries[count] = e
        end
      end
      if not more then take_up(math.huge) end
      work = work + 4 * chunk
      chunk = math.min(2 * chunk, 512)
    end
  end

  local function forbidden_until(r) -- the end of what rule r forbids at u
    local limit, window, i = limits[r], windows[r], pointers[r]
    if window < 0 then
      local from_u, till = period_of(-window, u)
      load(till)
      while i <= count and entries[i] < from_u do i = i + 1 end
      work = work + i - pointers[r] + 1
      pointers[r] = i
      local last = entries[i + limit - 1]
      return last and last < till and till
    end
    load(u + window)
    while i <= count and entries[i] <= u - window do i = i + 1 end
    work = work + i - pointers[r] + 1
    pointers[r] = i
    local till, j = false, i + limit - 1
    while j <= count and entries[j] < u + window do
      if entries[j] - entries[i] < window then till = entries[i] + window end
      i, j = i + 1, j + 1
      work = work + 1
    end
    return till
  end

  local function next_free(last)
    local last_u = direction * last
    local held = 0 -- rules in a row that let u pass
    local r, in_the_way = 1, nil
    while held < rule_count do
      if u > last_u then return nil, nil, in_the_way end
      -- Never where it began: a search that goes on there would not end.
      if budget and work > budget and u ~= direction * from then return nil, direction * u end
      local till = forbidden_until(r)
      budget = budget or work + WORK
      if till then
        u, held, in_the_way = till, 0, in_the_way or r
      else
        held = held + 1
        r = r % rule_count + 1
      end
    end
    return direction * u, nil, in_the_way
  end

  local function take_it()
    local i = count
    while i >= 1 and entries[i] > u do
      entries[i + 1] = entries[i]
      i = i - 1
    end
    entries[i + 1] = u
    count = count + 1
  end

  return next_free, take_it
end
