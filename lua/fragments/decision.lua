-- decision: the reply of reserve, check and move, an array of
--
--   status, now, send time, requested time (0: the same)
--   and, if the status is ALLOWED: flags (SHIFTED + REPLAYED), moved from (0: not),
--   the id of the notice of an alert that the change has raised, if any;
--   if it is SEND_LIMIT or QUIET_HOURS: next free time, where its search continues,
--   previous free time, where its search continues (0: none), the category of some of
--   the rules or "", then an array for each violated rule: its number from 1, how many
--   conflicts, from and until of its period (0 for a sliding rule), then id and send
--   time of the first conflicts.
--   BLOCKED has only the first four.
--   SEARCH_ON has only status, now and where to continue. A change that its hold does
--   not cover is HOLD_OVER, OUTSIDE_HOLD or CHANGED, see fragments/hold.lua.
--   SETTINGS_CHANGED has its own form, see fragments/settings.lua.
local GRACE = 5000 -- ms; a time this far in the past counts as now
local MOST_CONFLICTS = 10

-- violations returns the rules, see fragments/policy.lua, that placing t would break,
-- as in the reply. The field quiet reports whether t is in quiet hours, free whether
-- nothing forbids it. It also returns what it read around t: the ids and times,
-- ascending, and the first and last millisecond. The reservation `self` does not count.
local function violations(rules, t, self)
  local first, last = t, t
  for r = 1, rules.count do
    local window = rules.windows[r]
    local from, till = t - window + 1, t + window
    if window < 0 then from, till = period(-window, t) end
    first, last = math.min(first, from), math.max(last, till - 1)
  end
  local ids, times, count = {}, {}, 0
  if rules.count > 0 then
    local near = redis.call('ZRANGE', timeline, first, last, 'BYSCORE', 'WITHSCORES')
    for k = 1, #near, 2 do
      if near[k] ~= self then
        count = count + 1
        ids[count], times[count] = near[k], tonumber(near[k + 1])
      end
    end
  end

  -- counted returns the indexes of the entries in [from, till) that rule r counts; nil
  -- if all categories together are fewer than its limit.
  local function counted(r, from, till)
    local of_rule, i = {}, 1
    while i <= count and times[i] < from do i = i + 1 end
    local least = times[i + rules.limits[r] - 1]
    if not least or least >= till then return nil end
    while i <= count and times[i] < till do
      if r <= rules.overall or category_of(ids[i], rules.copied) == rules.category then
        of_rule[#of_rule + 1] = i
      end
      i = i + 1
    end
    return of_rule
  end

  local found = {quiet = is_quiet(rules, t)}
  for r = 1, rules.count do
    local limit, window = rules.limits[r], rules.windows[r]
    local total, conflicts = 0, {}
    local from, till = 0, 0
    local function add(k)
      total = total + 1
      if total <= MOST_CONFLICTS then
        conflicts[#conflicts + 1] = ids[k]
        conflicts[#conflicts + 1] = times[k]
      end
    end
    if window < 0 then
      from, till = period(-window, t)
      local of_rule = counted(r, from, till)
      if of_rule and of_rule[limit] then
        for k = 1, #of_rule do add(of_rule[k]) end
      end
    else
      local of_rule = counted(r, t - window + 1, t + window) or {}
      local added = 0 -- the last entry added: groups overlap
      for i = 1, #of_rule - limit + 1 do
        local j = i + limit - 1
        if times[of_rule[j]] - times[of_rule[i]] < window then
          for k = math.max(i, added + 1), j do add(of_rule[k]) end
          added = j
        end
      end
    end
    if total > 0 then
      local violation = {r, total, from, till}
      for k = 1, #conflicts do violation[4 + k] = conflicts[k] end
      found[#found + 1] = violation
    end
  end
  found.free = #found == 0 and not found.quiet
  return found, {ids = ids, times = times, first = first, last = last}
end

-- refusal returns the reply for a time that is not free. violations returned `broken`
-- and `near` for it.
local function refusal(rules, t, requested, broken, near, self)
  local excluded = self and {[self] = true}
  local next_free, next_resume = new_search(rules, 1, t, excluded, near)(now + reach)
  local previous, previous_resume
  if t > now then previous, previous_resume = new_search(rules, -1, t, excluded, near)(now) end
  local reply = {broken.quiet and QUIET_HOURS or SEND_LIMIT, now, t, requested or 0,
    next_free or 0, next_resume or 0, previous or 0, previous_resume or 0, rules.category or ''}
  for k = 1, #broken do reply[9 + k] = broken[k] end
  return reply
end

-- out_of_reach returns the reply for a time that is past or too far ahead, else nil.
local function out_of_reach(t)
  if t < now - GRACE then return {IN_PAST, now, t, 0} end
  if t > now + reach then return {TOO_FAR_AHEAD, now, t, 0} end
end
