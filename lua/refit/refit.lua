-- refit/refit.lua: lists a user's reservations that do not fit the rules. Writes nothing.
--
-- It judges the reservations that are not due yet, in order of time. Each is judged
-- together with all due or sent ones, those of exempt categories, and earlier ones that
-- stay. It stays if it breaks no rule among these. Otherwise it does not fit, and does
-- not count against later ones.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  the user's own settings (HASH, see fragments/settings.lua)
-- ARGV[1..9] now, and what judges, see fragments/judging.lua
-- ARGV[10] send time up to which earlier calls judged, Unix ms; "" for the first call
-- ARGV[11] with ARGV[10]: what the rules counted by then, as in the reply
--
-- Returns  {ALLOWED, now, how many were judged, send time up to which this call judged
--          or 0 if it judged all, what the rules counted by then, {id, send time,
--          rule, category, expiry} of each that does not fit ...}. rule is the number
--          of the first rule that it breaks, overall ones first, then its category's;
--          0 for quiet hours. category is "" for none, expiry 0 for none of its own.
--          Or {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + c) in the user's n reservations and the c that ARGV[11] names,
--          and WORK steps, or as many as the reservations of one millisecond need.
--          All calls together look at each reservation at most twice: those of a
--          largest window before the first judged one, and all later ones.

if #KEYS ~= 2 or #ARGV ~= 11 then
  return redis.error_reply('ERR refit/refit.lua: wrong number of keys or arguments')
end
--@include moving

local WORK = 2000 -- steps of judging in one call; a look at a record is LOOK of them
local LOOK = 4
local NEIGHBOUR = 1 / 8 -- of a step: comparing two times
local PAGE = 128 -- reservations read at once

local timeline = KEYS[1]
--@include clock
--@include judging
--@include status
--@include policy
--@include quiet
--@include settings
--@include record
--@include progress

local changed = settings_changed(KEYS[2])
if changed then return changed end

local work = 0

local function numbers_in(text)
  local numbers = {}
  for n in string.gmatch(text, '%S+') do numbers[#numbers + 1] = tonumber(n) end
  return numbers
end

-- What earlier calls left: a part for each result of counted_under, in that order,
-- then one for ahead, see there.
local left, read_parts = {}, 0
for part in string.gmatch(ARGV[11], '([^;]*);') do left[#left + 1] = part end

local function next_part()
  read_parts = read_parts + 1
  return numbers_in(left[read_parts] or '')
end

-- counted_under returns what rules count: the send times that stay, ascending, as far
-- back as a sliding rule may count them, and for each calendar rule the end of its
-- last period, with the number in it. within uses first, ahead_within uses beyond.
local function counted_under(words)
  local rules, known = rules_of(words, ''), next_part()
  local counted = {rules = rules, longest = 0, kept = {}, count = 0, till = {}, used = {}, first = {}, beyond = {}}
  for r = 1, rules.count do
    counted.till[r], counted.used[r] = known[2 * r - 1] or 0, known[2 * r] or 0
    counted.longest = math.max(counted.longest, rules.windows[r])
  end
  for k = 2 * rules.count + 1, #known do
    counted.count = counted.count + 1
    counted.kept[counted.count] = known[k]
  end
  return counted
end

-- What judges a category beside the overall rules, by its name. counted is what its
-- own rules count.
local overall = counted_under(rule_words)
local counting = {overall}
local classes, plain = {}, {}
local some_exempt = false
for name, entry in string.gmatch(category_words, '([^=,]+)=([^,]*)') do
  if string.sub(entry, 1, 1) == '!' then
    classes[name], some_exempt = {exempt = true}, true
  else
    classes[name] = {name = name, counted = counted_under(entry)}
    counting[#counting + 1] = classes[name].counted
  end
end

local records_prefix = string.gsub(timeline, '^([^}]*}:)[^:]+:', '%1m:', 1)
records_prefix = records_prefix .. ':'

local function class_of(id)
  if category_words == '' then return plain end
  work = work + LOOK
  local category = redis.call('HGET', records_prefix .. string.gsub(id, ':', '/'), 'k')
  return classes[category] or plain
end

-- reservations_after returns a function that returns id and send time of the i-th
-- reservation after a time; nil after the last.
local function reservations_after(time)
  local rank = redis.call('ZCOUNT', timeline, '-inf', time)
  local ids, times, read, all_read = {}, {}, 0, false
  return function(i)
    while i > read and not all_read do
      local page = redis.call('ZRANGE', timeline, rank + read, rank + read + PAGE - 1, 'WITHSCORES')
      for k = 1, #page, 2 do
        read = read + 1
        ids[read], times[read] = page[k], tonumber(page[k + 1])
      end
      all_read = #page < 2 * PAGE
    end
    return ids[i], times[i]
  end
end

-- The time up to which all are judged or, if due, counted. At first, no rule counts
-- earlier ones together with one that is not due.
local come = tonumber(ARGV[10])
if not come then
  come = now
  for k = 1, #counting do
    local rules = counting[k].rules
    for r = 1, rules.count do
      local window = rules.windows[r]
      come = math.min(come, window > 0 and now - window or period(-window, now) - 1)
    end
  end
end

-- Exempt ones stay, also those later than the judged one. ahead has their times, of all
-- reservations up to looked_till; from next_ahead on they are not before the judged
-- one. A later call gets them, and does not look them up again.
local ahead, next_ahead = next_part(), 1
local looked_till = table.remove(ahead, 1) or 0

-- within returns how many that stay are in a window that ends with t.
local function within(counted, r, window, t)
  local k = counted.first[r] or 1
  while k <= counted.count and counted.kept[k] <= t - window do k = k + 1 end
  counted.first[r] = k
  return counted.count - k + 1
end

-- ahead_within returns how many are ahead before till. For a rule, till never falls.
local function ahead_within(r, till)
  local k = math.max(overall.beyond[r] or 1, next_ahead)
  while ahead[k] and ahead[k] < till do k = k + 1 end
  overall.beyond[r] = k
  return k - next_ahead
end

-- slides reports whether t breaks a sliding rule: `limit` neighbours lie in a window
-- that contains it. Those ahead come last.
local function slides(counted, r, limit, window, t)
  local behind = within(counted, r, window, t) -- how many of the neighbours are not ahead
  if behind >= limit then return true end
  if counted ~= overall then return false end -- its category has no exempt ones
  local least = math.max(limit - ahead_within(r, t + window), 0)
  while behind >= least do
    local last = ahead[next_ahead + limit - behind - 1]
    local first = behind > 0 and counted.kept[counted.count - behind + 1] or ahead[next_ahead]
    if last - first < window then return true end
    behind = behind - 1
    work = work + NEIGHBOUR
  end
  return false
end

-- enter makes the period of a calendar rule the one that t is in.
local function enter(counted, r, t)
  if t < counted.till[r] then return end
  local _, till = period(-counted.rules.windows[r], t)
  counted.till[r], counted.used[r] = till, 0
end

-- fills reports whether t is in a natural period that is full.
local function fills(counted, r, limit, t)
  enter(counted, r, t)
  if counted ~= overall then return counted.used[r] >= limit end
  return counted.used[r] + ahead_within(r, counted.till[r]) >= limit
end

-- last_with returns the latest time that an overall rule may count with t.
local function last_with(t)
  local last = t + overall.longest - 1
  for r = 1, overall.rules.count do
    if overall.rules.windows[r] < 0 then
      enter(overall, r, t)
      last = math.max(last, overall.till[r] - 1)
    end
  end
  return last
end

local later, next_later = nil, 1 -- reservations after looked_till

-- look_ahead puts into ahead all that an overall rule may count with t. It returns
-- false if that is too much for one call.
local function look_ahead(t)
  if not some_exempt then return true end
  while ahead[next_ahead] and ahead[next_ahead] < t do next_ahead = next_ahead + 1 end
  looked_till = math.max(looked_till, t - 1)
  local last = last_with(t)
  if last <= looked_till then return true end
  later = later or reservations_after(looked_till)
  local id, at = later(next_later)
  while at and at <= last do
    if work > WORK and at > looked_till then return false end
    if class_of(id).exempt then ahead[#ahead + 1] = at end
    looked_till, next_later = at, next_later + 1
    id, at = later(next_later)
  end
  looked_till = last
  return true
end

local function broken(counted, t) -- the number of the first rule that t breaks
  local rules = counted.rules
  for r = 1, rules.count do
    local limit, window = rules.limits[r], rules.windows[r]
    if window > 0 and slides(counted, r, limit, window, t) then return r end
    if window < 0 and fills(counted, r, limit, t) then return r end
  end
end

local function stay(counted, t)
  counted.count = counted.count + 1
  counted.kept[counted.count] = t
  for r = 1, counted.rules.count do
    if counted.rules.windows[r] < 0 then
      enter(counted, r, t)
      counted.used[r] = counted.used[r] + 1
    end
  end
end

local function stays(t, class)
  stay(overall, t)
  if class.counted then stay(class.counted, t) end
  if class.exempt and ahead[next_ahead] == t then next_ahead = next_ahead + 1 end
end

-- left_over returns what the next call gets as ARGV[11].
local function left_over()
  local parts = {}
  local function add(n) parts[#parts + 1] = string.format('%.0f', n) end
  for k = 1, #counting do
    local counted = counting[k]
    for r = 1, counted.rules.count do
      add(counted.till[r])
      add(counted.used[r])
    end
    for i = 1, counted.count do
      if counted.kept[i] > come - counted.longest then add(counted.kept[i]) end
    end
    parts[#parts + 1] = ';'
  end
  add(looked_till)
  for k = next_ahead, #ahead do add(ahead[k]) end
  parts[#parts + 1] = ';'
  return table.concat(parts, ' ')
end

-- misfit returns the reply's entry for a reservation, or nil if its message is not
-- pending, or reached a device and can't be moved.
local function misfit(id, t, rule)
  work = work + LOOK
  local r = redis.call('HMGET', records_prefix .. string.gsub(id, ':', '/'), 's', 'g', 'k', 'x', 'D')
  if state_of(r[1], r[2]) ~= PENDING or has_reached(r[5]) then return nil end
  return {id, t, rule, r[3] or '', tonumber(r[4] or 0)}
end

local function judge(id, t, class)
  if class.exempt then return nil end
  if past_quiet(quiet_in(class.name), 1, t) then return misfit(id, t, 0) end
  local rule = broken(overall, t)
  if not rule and class.counted then
    rule = broken(class.counted, t)
    rule = rule and overall.rules.count + rule
  end
  return rule and misfit(id, t, rule)
end

local reply, judged = {ALLOWED, now, 0, 0, ''}, 0
local reservation = reservations_after(come)
local i, at = 1, come -- at: the present millisecond of the loop
local id, t = reservation(i)
while t do
  if t > at then
    come = at
    if work > WORK or t > now and not look_ahead(t) then
      reply[4], reply[5] = come, left_over()
      break
    end
    at = t
  end
  work = work + 1
  local class, found = class_of(id), nil
  if t > now and t >= during_from and t < during_till then
    judged = judged + 1
    found = judge(id, t, class)
  end
  if found then reply[#reply + 1] = found else stays(t, class) end
  i = i + 1
  id, t = reservation(i)
end
reply[3] = judged
return reply
