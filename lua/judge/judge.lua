-- judge: which times the rules forbid, and the next time that they allow.
--
-- A rule forbids intervals. A full natural period, a full day and quiet hours are forbidden
-- intervals. A time t breaks a sliding rule "limit per window" exactly if `limit` neighbours e_i
-- ... e_j, in order, with e_j - e_i < window satisfy e_j - window < t < e_i + window: each such
-- group forbids an open interval. The search jumps from the end of one forbidden interval to the
-- end of the next, upwards or downwards, until it finds an allowed time.
--@include judge/question
--@include judge/rules
--@include judge/category
--@include judge/whose
--@include judge/quiet
--@include judge/places
local judging, in_period, full, next_free
do -- the embedded store bounds the locals of a script
  -- judging completes rules, see judge/rules.lua, with the question q and these fields: lists, the
  -- list of each rule; periods, for a natural rule the last period and its number of places; quiet,
  -- the quiet times; tried, the numbers of the checks that may forbid a time: -1 for times at which
  -- the user is not disturbed, 0 for quiet times, then the rules, then count + 1 for the day.
  -- A list with fewer places than the limit breaks no rule.
  --
  -- If an account has a share of the rules, it first adds a rule for each of them, which counts
  -- only the account's places.
  function judging(q, rules)
    if rules.q == q then return end
    local limits, windows, count, own = rules.limits, rules.windows, rules.count, nil
    local lists, all, percent = {nil, nil, nil, nil}, list_at(q, q.timeline), q.share_percent
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
    rules.q, rules.count, rules.lists = q, count, lists
    rules.quiet = q.quiet_in and not rules.exempt and q.quiet_in(rules.category)
    local tried, n = {nil, nil, nil, nil, nil}, 0
    if q.disturb_from and not rules.exempt then tried[1], n = -1, 1 end
    if rules.quiet then tried[n + 1], n = 0, n + 1 end
    for r = 1, count do
      local list, limit, window = lists[r], limits[r], windows[r]
      if q.takes or not list.card or list.card >= limit then
        n = n + 1
        tried[n] = r
        if window > list.window then list.window = window end
        if window > 0 and limit > list.most then list.most = limit end
      end
    end
    if q.most_places then tried[n + 1] = count + 1 end
    rules.tried = tried
  end

  -- in_period returns begin and end of the natural period of a rule that contains t, and how many
  -- of its places count.
  function in_period(rules, r, t)
    rules.periods = rules.periods or {}
    local known, q = rules.periods[r], rules.q
    if not known or t < known.from or t >= known.till or known.takes ~= q.takes then
      local from, till = clocks_of_zone().period(-rules.windows[r], t)
      known = {from = from, till = till, count = count_in(rules.lists[r], from, till), takes = q.takes}
      rules.periods[r], q.spent = known, q.spent + 8
    end
    return known.from, known.till, known.count
  end

  -- full reports whether the day of UTC of t has the maximum number of places, which keeps calls
  -- short; then whether the account has its share of them. Places in the timeline and places beside
  -- it are bounded separately. Most timelines have fewer in all: then no day is counted.
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

  -- beyond_groups returns the first time from t on, in a direction, that a sliding rule allows; nil
  -- if it allows t. On each side, a group of the nearest `limit` forbids enough to make progress.
  local function beyond_groups(list, limit, window, t, direction)
    local at, times, last, q = cover(list, t), list.times, list.last - limit + 1, list.q
    if last < 1 then return nil end
    local lowest, highest = at < limit and 1 or at - limit + 1, at < last and at + 1 or last -- groups begin there
    if direction > 0 then
      if times[highest + limit - 1] >= t + window then
        highest = first_from(times, at + 1, highest + limit - 2, t + window) - limit
      end
      for k = highest, lowest, -1 do
        local from = times[k]
        q.spent = q.spent + 1
        if from <= t - window then return nil end
        if times[k + limit - 1] - from < window then return from + window end
      end
    else
      if times[lowest] <= t - window then lowest = first_from(times, lowest + 1, at, t - window + 1) end
      for k = lowest, highest do
        local till = times[k + limit - 1]
        q.spent = q.spent + 1
        if till >= t + window then return nil end
        if till - times[k] < window then return till - window end
      end
    end
  end

  -- forbids returns the first time from t on, in a direction, that the check number r allows; nil
  -- if it allows t.
  local function forbids(rules, r, t, direction)
    local q, window = rules.q, rules.windows[r]
    q.spent = q.spent + 4
    if window and window > 0 then return beyond_groups(rules.lists[r], rules.limits[r], window, t, direction) end
    if r == 0 then return q.past_quiet(rules.quiet, direction, t) or nil end
    if r == -1 then return t < q.disturb_from and (direction > 0 and q.disturb_from or -math.huge) or nil end
    local from, till
    if window then
      local count
      from, till, count = in_period(rules, r, t)
      if count < rules.limits[r] then return nil end
    else
      if not full(rules, t) then return nil end
      from, till = t - t % DAY, t - t % DAY + DAY
    end
    return direction > 0 and till or from - 1
  end

  -- next_free returns the first free time from a time on up to `last`, or down to it in direction
  -- -1; nil if there is none. Then where it stopped: nil, or a time if the work is used up or other
  -- rules apply from there on. Then the first check that forbade an earlier time: the number of the
  -- rule, 0 for quiet hours, or -1 for do-not-disturb.
  function next_free(q, rules, from, direction, last)
    judging(q, rules)
    local beyond = direction > 0 and q.during_till or q.during_from - 1 -- where other rules apply
    local bound = math.min(direction * last, direction * beyond - 1)
    local tried = rules.tried
    local t, k, allow, all, in_the_way = from, 1, 0, #tried, nil
    while direction * t <= bound do
      if allow == all then return t, nil, in_the_way end
      -- Never at its start, or it would not end.
      if q.spent > q.work and t ~= from then return nil, t, in_the_way end
      local till = forbids(rules, tried[k], t, direction)
      if till then
        if direction * till <= direction * t then error('the search for a free time stands still') end -- not for ever
        t, allow, in_the_way = till, 0, in_the_way or tried[k]
      else
        allow, k = allow + 1, k < all and k + 1 or 1
      end
    end
    if direction * (beyond - t) <= 0 and direction * (last - beyond) >= 0 then return nil, beyond, in_the_way end
    return nil, nil, in_the_way
  end
end
