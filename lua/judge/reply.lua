-- reply: the reply of reserve, check and move, an array of
--
--   status, now, send time, requested time (0: the same)
--   and, if the status is ALLOWED: flags (SHIFTED + REPLAYED + SUPERSEDED + REPLACED), moved from
--   (0: not), with SUPERSEDED the generation that the change ended and when its task is
--   due, then the id of the alert that the change has raised, if any;
--   if it is SEND_LIMIT, DO_NOT_DISTURB, QUIET_HOURS, TOO_MANY_PLACES or ACCOUNT_PLACES:
--   next free time, where
--   its search continues, previous free time, where its search continues (0: none), the
--   category of some of the rules or "", then an array for each violated rule: its number
--   from 1, those of an account's share after all others, how many conflicts, from and until
--   of its period (0 for a sliding rule), then id and send time of the first conflicts.
--   if it is EXPIRES_LATE: the last expiry that a message may have.
--   BLOCKED has only the first four.
--   SEARCH_ON has only status, now and where to continue, or 0 to start again without a
--   spread. A change that its hold does not cover is HOLD_OVER, OUTSIDE_HOLD or CHANGED,
--   see fragments/hold.lua.
--   SETTINGS_CHANGED has its own form, see fragments/settings.lua.
--@include judge/judge
-- crowd returns the stretch in which a sliding rule has the conflicts of t, nil if it has room: the
-- stretch of the places of all groups of `limit` neighbours that fit into a window with t. Such
-- groups overlap or follow each other. On a side with `limit` places or more, all are in one.
local function crowd(list, limit, window, t)
  local q = list.q
  local at, times, from, till = cover(list, t), list.times, t - window + 1, t + window
  if list.last < limit then return nil end
  local i = first_from(times, at < limit and 1 or at - limit + 1, at, from)
  local j = first_from(times, at + 1, list.last - at < limit and list.last or at + limit, till) - 1
  q.spent = q.spent + 8 + (j - i) / 8
  if j - i + 1 < limit then return nil end
  if at - i + 1 < limit then
    while i + limit - 1 <= j and times[i + limit - 1] - times[i] >= window do i = i + 1 end
    if i + limit - 1 > j then return nil end
    from = times[i]
  end
  if j - at < limit then
    while times[j] - times[j - limit + 1] >= window do j = j - 1 end
    till = times[j] + 1
  end
  return from, till
end

-- violations returns the rules that placing t would break, as in the reply. The field
-- disturbs reports whether the user is not disturbed at t, quiet whether t is in quiet hours, full
-- whether its day has the maximum number of places, own whether the account has its share of them,
-- and free whether nothing forbids t.
local function violations(q, rules, t)
  judging(q, rules)
  local found, broken = {disturbs = false, quiet = false, full = false, own = false, free = false}, 0
  for k = 1, #rules.tried do
    local r = rules.tried[k]
    local list, limit, window = rules.lists[r], rules.limits[r], rules.windows[r]
    local from, till, count
    if r == -1 then
      found.disturbs = t < q.disturb_from
    elseif r == 0 then
      found.quiet = q.past_quiet(rules.quiet, 1, t) ~= false
    elseif not window then
      found.full, found.own = full(rules, t)
    elseif window > 0 then
      from, till = crowd(list, limit, window, t)
    else
      from, till, count = in_period(rules, r, t)
      if count < limit then from = nil end
    end
    if from then
      broken = broken + 1
      found[broken] = {r, 0, window < 0 and from or 0, window < 0 and till or 0}
      found[broken][2] = add_conflicts(found[broken], list, from, till)
    end
  end
  found.free = broken == 0 and not found.disturbs and not found.quiet and not found.full
  return found
end

-- refusal returns the reply for a time that is not free; broken is the result of violations for it.
-- `alone` leaves out the free times, so that no search is needed.
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
  local status = broken.disturbs and DO_NOT_DISTURB or broken.quiet and QUIET_HOURS or full or SEND_LIMIT
  return {status, now, t, requested or 0, later or 0, later_from or 0, earlier or 0, earlier_from or 0,
    rules.category or rules.name or '', unpack(broken)}
end
