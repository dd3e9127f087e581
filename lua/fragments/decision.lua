-- decision: the reply of reserve, check and move, an array of
--
--   status, now, send time, requested time (0: the same)
--   and, if the status is ALLOWED: flags (SHIFTED + REPLAYED), moved from (0: not),
--   the id of the notice of an alert that the change has raised, if any;
--   if it is SEND_LIMIT: next free time, where to search on for it, previous free
--   time, where to search on for it (0: none), then an array a violated rule:
--   its number in the policy from 1, conflicts in all, from and until of its
--   period (0 of a sliding rule), then id and send time of the first conflicts.
--   SEARCH_ON has only status, now and where to search on. A change that its hold
--   does not cover is HOLD_OVER, OUTSIDE_HOLD or CHANGED, see fragments/hold.lua.
--@include status
local GRACE = 5000 -- ms in the past that are taken as now
local MOST_CONFLICTS = 10

-- violations lists the rules that placing t would break, as the reply has
-- them, and returns what it read for that around t: the times, ascending, and
-- the first and last millisecond that it looked at. The reservation `self` does
-- not count.
local function violations(t, self)
  local first, last = t, t
  for r = 1, rule_count do
    local from, till = t - windows[r] + 1, t + windows[r]
    if windows[r] < 0 then from, till = period(-windows[r], t) end
    first, last = math.min(first, from), math.max(last, till - 1)
  end
  local near = redis.call('ZRANGE', timeline, first, last, 'BYSCORE', 'WITHSCORES')
  local ids, times, count = {}, {}, 0
  for k = 1, #near, 2 do
    if near[k] ~= self then
      count = count + 1
      ids[count], times[count] = near[k], tonumber(near[k + 1])
    end
  end

  local found = {}
  for r = 1, rule_count do
    local limit, window = limits[r], windows[r]
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
      local i = 1
      while i <= count and times[i] < from do i = i + 1 end
      if times[i + limit - 1] and times[i + limit - 1] < till then
        while i <= count and times[i] < till do
          add(i)
          i = i + 1
        end
      end
    else
      local added = 0 -- groups overlap: the last entry that one has added
      for i = 1, count - limit + 1 do
        local j = i + limit - 1
        if times[j] - times[i] < window and times[j] < t + window and times[i] > t - window then
          for k = math.max(i, added + 1), j do add(k) end
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
  return found, {times = times, first = first, last = last}
end

-- refusal completes the reply for a time that breaks rules.
local function refusal(t, requested, broken, near, self)
  local excluded = self and {[self] = true}
  local next_free, next_resume = new_search(1, t, excluded, near)(now + reach)
  local previous, previous_resume
  if t > now then previous, previous_resume = new_search(-1, t, excluded, near)(now) end
  local reply = {SEND_LIMIT, now, t, requested or 0,
    next_free or 0, next_resume or 0, previous or 0, previous_resume or 0}
  for k = 1, #broken do reply[8 + k] = broken[k] end
  return reply
end

-- out_of_reach answers for a time that is past or too far ahead, or gives nil.
local function out_of_reach(t)
  if t < now - GRACE then return {IN_PAST, now, t, 0} end
  if t > now + reach then return {TOO_FAR_AHEAD, now, t, 0} end
end
