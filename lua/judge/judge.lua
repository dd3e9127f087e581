-- judge: which times the rules forbid, and which is the next one that they allow.
--
-- A rule forbids stretches of time. A full natural period, a full day and quiet hours forbid
-- themselves. A time t breaks a sliding rule "limit per window" exactly if `limit` neighbours
-- e_i ... e_j, in order, with e_j - e_i < window satisfy e_j - window < t < e_i + window: each
-- such group forbids an open interval. The search jumps from the end of one forbidden stretch
-- to the end of the next, upwards or downwards, until nothing forbids the time.
--@include judge/question
--@include judge/rules
--@include judge/category
--@include judge/whose
--@include judge/quiet
--@include judge/places
local judging, in_period, full, next_free
do -- the embedded store bounds the locals of a script
  -- judging completes rules, see judge/rules.lua, with the question q and what they count:
  -- lists, of each rule; periods, of a natural rule the last one and how many are in it; quiet, the quiet
  -- times; first and last, the numbers of what forbids: 0 for quiet times, then the rules, then the day.
  --
  -- If an account has a share of the rules, it first adds a rule for each of them, which counts only
  -- what is the account's.
  function judging(q, rules)
    if rules.q == q then return end
    local limits, windows, count, own = rules.limits, rules.windows, rules.count, nil
    local lists, all, percent = {}, list_at(q, q.timeline), q.share_percent
    if rules.category then own = list_at(q, places_of(rules.category), rules.category) end
    for r = 1, count do
      local list = r > rules.overall and own or all
      lists[r] = list
      if percent then
        lists[count + r], windows[count + r] = list_at(q, list.key, list.category, true), windows[r]
        limits[count + r] = math.max(1, math.ceil(limits[r] * percent / 100))
      end
    end
    if percent then count = 2 * count end
    for r = 1, count do
      local list, window = lists[r], windows[r]
      if window > list.window then list.window = window end
      if window > 0 and limits[r] > list.most then list.most = limits[r] end
    end
    rules.q, rules.count, rules.lists, rules.periods = q, count, lists, {}
    rules.quiet = q.quiet_in and not rules.exempt and q.quiet_in(rules.category)
    rules.first, rules.last = rules.quiet and 0 or 1, q.most_places and count + 1 or count
  end

  -- in_period returns begin and end of the natural period of a rule that t is in, and how many of
  -- its places count.
  function in_period(rules, r, t)
    local known, q = rules.periods[r], rules.q
    if not known or t < known.from or t >= known.till or known.takes ~= q.takes then
      local from, till = clocks_of_zone().period(-rules.windows[r], t)
      known = {from = from, till = till, count = count_in(rules.lists[r], from, till), takes = q.takes}
      rules.periods[r], q.spent = known, q.spent + 8
    end
    return known.from, known.till, known.count
  end

  -- full reports whether the day of UTC of t has as many places as are allowed, so that no user has
  -- so many that calls get slow; then whether the account has its share of them. Places in the timeline
  -- and places beside it each have the bound. In most timelines there are fewer in all: then no
  -- day is counted.
  function full(rules, t)
    local q, list = rules.q, rules.bounded
    if not list then
      list = list_at(q, rules.uncounted and (string.gsub(q.timeline, '^([^}]*}:)u:', '%1x:', 1)) or q.timeline)
      list.card = list.card or redis.call('ZCARD', list.key)
      rules.bounded = list
    end
    if list.card + (q.takes or 0) < (q.share_places or q.most_places) then return false end
    local from, till = math.max(t - t % DAY, q.since), t - t % DAY + DAY
    local count, more = count_in(list, from, till), q.taken_in and q.taken_in(list, from, till) or 0
    local own = q.share_places and count >= q.share_places
      and q.own_reach(q.share_places - more, list.key, from, till - 1, count - more)
    return own or count >= q.most_places, own
  end

  -- forbids returns the first time from t on, in a direction, that number r allows; nil if it allows t.
  local function forbids(rules, r, t, direction)
    local q, window = rules.q, rules.windows[r]
    local from, till
    q.spent = q.spent + 4
    if r == 0 then
      return q.past_quiet(rules.quiet, direction, t) or nil
    elseif r > rules.count then
      if not full(rules, t) then return nil end
      from, till = t - t % DAY, t - t % DAY + DAY
    elseif window < 0 then
      local count
      from, till, count = in_period(rules, r, t)
      if count < rules.limits[r] then return nil end
    else -- what the groups of places around t forbid
      local list, limit = rules.lists[r], rules.limits[r]
      -- On a side, a group of the nearest `limit` forbids enough to get on.
      local at, times = cover(list, t), list.times
      if direction > 0 then
        local beyond = first_from(times, at + 1, math.min(list.last, at + limit), t + window)
        for last = beyond - 1, math.max(at, limit), -1 do
          from, q.spent = times[last - limit + 1], q.spent + 1
          if from <= t - window then return nil end
          if times[last] - from < window then return from + window end
        end
      else
        local earliest = first_from(times, math.max(1, at - limit + 1), at, t - window + 1)
        for first = earliest, math.min(at + 1, list.last - limit + 1) do
          till, q.spent = times[first + limit - 1], q.spent + 1
          if till >= t + window then return nil end
          if till - times[first] < window then return till - window end
        end
      end
      return nil
    end
    return direction > 0 and till or from - 1
  end

  -- next_free returns the first free time from a time on up to `last`, or down to it in direction
  -- -1; nil if there is none. Then where it stopped: nil, or a time if the work is used up or
  -- other rules apply from there on. Then what first forbade an earlier time: the number of the rule, or 0
  -- for quiet hours.
  function next_free(q, rules, from, direction, last)
    judging(q, rules)
    local beyond = direction > 0 and q.during_till or q.during_from - 1 -- where other rules apply
    local t, r, held, in_the_way = from, rules.first, rules.first, nil
    while direction * (last - t) >= 0 and direction * (beyond - t) > 0 do
      if held > rules.last then return t, nil, in_the_way end
      if q.spent > q.work and t ~= from then return nil, t, in_the_way end -- never at its start: it would not end
      local till = forbids(rules, r, t, direction)
      if till then
        t, held, in_the_way = till, rules.first, in_the_way or r
      else
        held = held + 1
        r = r < rules.last and r + 1 or rules.first
      end
    end
    if direction * (beyond - t) <= 0 and direction * (last - beyond) >= 0 then return nil, beyond, in_the_way end
    return nil, nil, in_the_way
  end
end
