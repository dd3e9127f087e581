-- reply: the reply of reserve, check and move, an array of
--
--   status, now, send time, requested time (0: the same)
--   and, if the status is ALLOWED: flags (SHIFTED + REPLAYED + SUPERSEDED), moved from
--   (0: not), with SUPERSEDED the generation that the change ended and when its task is
--   due, then the id of the notice of an alert that the change has raised, if any;
--   if it is SEND_LIMIT, QUIET_HOURS, TOO_MANY_PLACES or ACCOUNT_PLACES: next free time, where
--   its search continues, previous free time, where its search continues (0: none), the
--   category of some of the rules or "", then an array for each violated rule: its number
--   from 1, those of an account's share behind all others, how many conflicts, from and until
--   of its period (0 for a sliding rule), then id and send time of the first conflicts.
--   if it is EXPIRES_LATE: the last expiry that a message may have.
--   BLOCKED has only the first four.
--   SEARCH_ON has only status, now and where to continue. A change that its hold does
--   not cover is HOLD_OVER, OUTSIDE_HOLD or CHANGED, see fragments/hold.lua.
--   SETTINGS_CHANGED has its own form, see fragments/settings.lua.
--@include judge/judge
-- crowd returns how many conflicts a sliding rule has at t, 0 if it has room, and the stretch
-- that they are in: the places of all groups of `limit` neighbours that fit into a window with
-- t. Such groups overlap or follow each other. On a side with `limit` places or more, all are in one.
local function crowd(list, limit, window, t)
  local q = list.q
  local at, times, from, till = cover(list, t), list.times, t - window + 1, t + window
  local i = first_from(times, math.max(1, at - limit + 1), at, from)
  local j = first_from(times, at + 1, math.min(list.last, at + limit), till) - 1
  q.spent = q.spent + 8 + (j - i) / 8
  if j - i + 1 < limit then return 0 end
  if at - i + 1 < limit then
    while i + limit - 1 <= j and times[i + limit - 1] - times[i] >= window do i = i + 1 end
    if i + limit - 1 > j then return 0 end
    from = times[i]
  end
  if j - at < limit then
    while times[j] - times[j - limit + 1] >= window do j = j - 1 end
    till = times[j] + 1
  end
  return count_in(list, from, till), from, till
end

-- violations returns the rules that placing t would break, as in the reply. The field quiet
-- reports whether t is in quiet hours, full whether its day has as many places as are allowed,
-- own whether the account has its share of them, and free whether nothing forbids t.
local function violations(q, rules, t)
  judging(q, rules)
  local found = {quiet = rules.quiet and q.past_quiet(rules.quiet, 1, t) ~= false}
  for r = 1, rules.count do
    local list, limit, window = rules.lists[r], rules.limits[r], rules.windows[r]
    local total, from, till
    if window > 0 then
      total, from, till = crowd(list, limit, window, t)
    else
      from, till, total = in_period(rules, r, t)
      if total < limit then total = 0 end
    end
    if total > 0 then
      local natural = window < 0
      found[#found + 1] = {r, total, natural and from or 0, natural and till or 0, unpack(first_in(list, from, till))}
    end
  end
  if q.most_places then found.full, found.own = full(rules, t) end
  found.free = #found == 0 and not found.quiet and not found.full
  return found
end

-- refusal returns the reply for a time that is not free; broken is what violations returned for
-- it. `alone` leaves out the free times, which it needs no search for then.
local function refusal(q, rules, t, requested, broken, alone)
  local TOO_MANY_PLACES, ACCOUNT_PLACES = 19, 23
  local later, later_from, earlier, earlier_from
  if not alone then
    later, later_from = next_free(q, rules, t, 1, now + reach)
    if t > now and q.spent > q.work then
      earlier_from = t -- another call begins there
    elseif t > now then
      earlier, earlier_from = next_free(q, rules, t, -1, now)
    end
  end
  local full = broken.full and #broken == 0 and (broken.own and ACCOUNT_PLACES or TOO_MANY_PLACES)
  local status = broken.quiet and QUIET_HOURS or full or SEND_LIMIT
  return {status, now, t, requested or 0, later or 0, later_from or 0, earlier or 0, earlier_from or 0,
    rules.category or rules.name or '', unpack(broken)}
end
