-- decision: the reply of reserve, check and move, an array of
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
local GRACE = 5000 -- ms; a time this far in the past counts as now

-- first_in returns ids and send times of the first places of a key in [from, till), at
-- most MOST_CONFLICTS.
local function first_in(key, from, till, excluded)
  local read = redis.call('ZRANGE', key, from, till - 1, 'BYSCORE', 'LIMIT', 0, MOST_CONFLICTS + 1, 'WITHSCORES')
  local found = {}
  for k = 1, #read, 2 do
    if #found < 2 * MOST_CONFLICTS and not (excluded and excluded[read[k]]) then
      found[#found + 1], found[#found + 2] = read[k], tonumber(read[k + 1])
    end
  end
  return found
end

-- crowd returns how many conflicts a sliding rule has at t, 0 if it has room, and the
-- first of them: the places of all groups of `limit` neighbours that fit into a window
-- with t. On a side with `limit` places or more, all are in such a group.
local function crowd(reader, t, limit, window, excluded)
  cover(reader, t)
  local times, ids, key, beyond = reader.times, reader.ids, reader.list.key, reader.beyond
  local first = math.max(less(times, t - window + 1) + 1, beyond - limit) -- the nearest on each side, at most `limit`
  local last = math.min(less(times, t + window), beyond + limit - 1)
  spent = spent + 8
  if last - first + 1 < limit then return 0 end
  local sides = {{from = t - window + 1, till = t + 1, total = 0}, {from = t + 1, till = t + window, total = 0}}
  sides[1].all, sides[2].all = beyond - first == limit, last - beyond + 1 == limit
  -- Of a side that is read as a whole, all are known.
  if reader.start <= t - window + 1 then first, sides[1].all = less(times, t - window + 1) + 1, false end
  if reader.known >= t + window then last, sides[2].all = less(times, t + window), false end
  -- All places from the first group that fits to the last one are in such groups: groups
  -- that fit overlap or follow each other.
  local i, j = first, last - limit + 1
  if sides[1].all and sides[2].all then j = i - 1 end -- both are counted below
  while i <= j and times[i + limit - 1] - times[i] >= window do i = i + 1 end
  while j > i and times[j + limit - 1] - times[j] >= window do j = j - 1 end
  spent = spent + (i - first + last - limit + 1 - j) / 8
  if i <= j then
    local till = j + limit - 1
    sides[1].first, sides[1].total = i, math.max(0, math.min(till, beyond - 1) - i + 1)
    sides[2].first, sides[2].total = math.max(i, beyond), math.max(0, till - math.max(i, beyond) + 1)
    for s = 1, 2 do
      local side = sides[s]
      for n = side.first, side.first + math.min(side.total, MOST_CONFLICTS) - 1 do
        side[#side + 1] = ids[n]
        side[#side + 1] = times[n]
      end
    end
  end
  local found = {}
  for s = 1, 2 do
    local side, read = sides[s], sides[s]
    if side.all then
      side.total = count_in(key, side.from, side.till, excluded)
      read = first_in(key, side.from, side.till, excluded)
    end
    for k = 1, math.min(#read, 2 * MOST_CONFLICTS - #found) do found[#found + 1] = read[k] end
  end
  return sides[1].total + sides[2].total, found
end

-- violations returns the rules, see fragments/policy.lua, that placing t would break,
-- as in the reply. The field quiet reports whether t is in quiet hours, full whether its
-- day has as many places as are allowed, own whether the account has its share of them, and
-- free whether nothing forbids it. It also returns the readers of what it read around t, by list.
-- The reservation `self` does not count.
local function violations(rules, t, self)
  local lists, readers, excluded = lists_of(rules), {}, self and {[self] = true}
  local found = {quiet = is_quiet(rules, t)}
  for r = 1, rules.count do
    local list, limit, window = lists[r], rules.limits[r], rules.windows[r]
    local from, till = 0, 0
    local total, conflicts
    if window < 0 then
      from, till = period(-window, t)
      total, conflicts = count_of(list, window, from, till, excluded)
      if total < limit then total = 0 else conflicts = conflicts or first_in(list.key, from, till, excluded) end
    else
      readers[list] = readers[list] or new_reader(list, 1, excluded)
      total, conflicts = crowd(readers[list], t, limit, window, excluded)
    end
    if total > 0 then
      local violation = {r, total, from, till}
      for k = 1, math.min(#conflicts, 2 * MOST_CONFLICTS) do violation[4 + k] = conflicts[k] end
      found[#found + 1] = violation
    end
  end
  local full, own = filled(set_of(rules), t, 0, excluded)
  found.full, found.own = full, own
  found.free = #found == 0 and not found.quiet and not found.full
  return found, readers
end

-- refusal returns the reply for a time that is not free. violations returned `broken`
-- and `readers` for it; these are nil if a search used them since. `alone` leaves out the
-- free times, which it needs no search for then.
local function refusal(rules, t, requested, broken, readers, self, alone)
  local TOO_MANY_PLACES, ACCOUNT_PLACES = 19, 23
  local excluded, down = self and {[self] = true}, {}
  local next_free, next_resume, previous, previous_resume
  if not alone then
    for list, reader in pairs(readers or {}) do down[list] = mirrored(reader) end -- before the search reads on
    next_free, next_resume = new_search(rules, 1, t, excluded, readers)(now + reach)
    if t > now and spent > WORK then
      previous_resume = t -- another call begins there
    elseif t > now then
      previous, previous_resume = new_search(rules, -1, t, excluded, down)(now)
    end
  end
  local full = broken.full and #broken == 0 and (broken.own and ACCOUNT_PLACES or TOO_MANY_PLACES)
  local status = broken.quiet and QUIET_HOURS or full or SEND_LIMIT
  local reply = {status, now, t, requested or 0,
    next_free or 0, next_resume or 0, previous or 0, previous_resume or 0, rules.category or rules.name or ''}
  for k = 1, #broken do reply[9 + k] = broken[k] end
  return reply
end

-- out_of_reach returns the reply for a time that is past or too far ahead, else nil.
local function out_of_reach(t)
  if t < now - GRACE then return {IN_PAST, now, t, 0} end
  if t > now + reach then return {TOO_FAR_AHEAD, now, t, 0} end
end

-- expires_late returns the reply for an expiry that is too late: the timeline is kept until
-- then. No expiry is never late.
local BEYOND_REACH = 31 * 24 * 60 * 60 * 1000 -- ms
local function expires_late(expiry, t)
  local latest = now + reach + BEYOND_REACH
  if (expiry or 0) > latest then return {EXPIRES_LATE, now, t, 0, latest} end
end
