-- place/usage.lua: returns how full each rule is at a time, and which stretches of a
-- span the rules leave free. Writes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- ARGV[1..9] now, and what judges, see fragments/judging.lua
-- ARGV[10] the time, Unix ms; "" for now
-- ARGV[11] start of the span, Unix ms; "" for no stretches
-- ARGV[12] end of the span, Unix ms, exclusive
--
-- Returns  {now, the time, {used, from, until of the counted window} for each rule,
--          {from, until, ...} of the free stretches}; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + r (k + l)) in the user's n reservations and r rules: k in the
--          span and a largest window around it, l in twice that window around the
--          time, of those that the rule counts.

if #KEYS ~= 2 or #ARGV ~= 12 then
  return redis.error_reply('ERR place/usage.lua: wrong number of keys or arguments')
end

local timeline = KEYS[1]
--@include clock
--@include judging
local at = tonumber(ARGV[10]) or now
local span_from, span_till = tonumber(ARGV[11]), tonumber(ARGV[12])
--@include status
--@include settings
--@include policy
--@include category

local changed = settings_changed(KEYS[2], at)
if changed then return changed end
local rules = rules_of(rule_words, scope_words)

local function key_of(r) return r <= rules.overall and timeline or places_of(rules.category) end

local function times_between(r, from, till) -- ascending, of [from, till), that rule r counts
  local read = redis.call('ZRANGE', key_of(r), math.max(from, now - keep), till - 1, 'BYSCORE', 'WITHSCORES')
  local times = {}
  for k = 2, #read, 2 do times[k / 2] = tonumber(read[k]) end
  return times
end

-- fullest returns the count and start of the fullest window of sliding rule r that
-- contains `at`, the earliest of several. The window starts at a reservation or at
-- `at`: any other can start later and loses nothing.
local function fullest(r)
  local window = rules.windows[r]
  local times = times_between(r, at - window + 1, at + window)
  local used, from = 0, at
  local first, last = 1, 0 -- times[first .. last] lie in the window from times[first]
  while first <= #times and times[first] <= at do
    while last < #times and times[last + 1] < times[first] + window do last = last + 1 end
    if last - first + 1 > used then used, from = last - first + 1, times[first] end
    first = first + 1
  end
  if #times - first + 1 > used then used, from = #times - first + 1, at end
  return used, from
end

local reply = {now, at}
for r = 1, rules.count do
  local window = rules.windows[r]
  if window > 0 then
    local used, from = fullest(r)
    reply[2 + r] = {used, from, from + window}
  else
    local from, till = period(-window, at)
    reply[2 + r] = {redis.call('ZCOUNT', key_of(r), math.max(from, now - keep), till - 1), from, till}
  end
end
if not span_from then return reply end

-- What each rule forbids within the span, as half-open intervals.
local taken = {}
for r = 1, rules.count do
  local limit, window = rules.limits[r], rules.windows[r]
  if window > 0 then
    local times = times_between(r, span_from - window + 1, span_till + window)
    for i = 1, #times - limit + 1 do
      local first, last = times[i], times[i + limit - 1]
      if last - first < window then taken[#taken + 1] = {last - window + 1, first + window} end
    end
  else
    local from = period(-window, span_from)
    local _, last_till = period(-window, span_till)
    local times = times_between(r, from, last_till)
    local i = 1
    while times[i] do -- each period that has reservations
      local till
      from, till = period(-window, times[i])
      local used = 0
      while times[i] and times[i] < till do i, used = i + 1, used + 1 end
      if used >= limit then taken[#taken + 1] = {from, till} end
    end
  end
end
table.sort(taken, function(a, b) return a[1] < b[1] end)

local free, from = {}, span_from
for k = 1, #taken do
  local till = math.min(taken[k][1], span_till)
  if till > from then
    free[#free + 1] = from
    free[#free + 1] = till
  end
  from = math.max(from, taken[k][2])
end
if from < span_till then
  free[#free + 1] = from
  free[#free + 1] = span_till
end
reply[3 + rules.count] = free
return reply
