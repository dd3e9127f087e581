-- place/usage.lua: returns how full each rule is at a time, and which stretches of a
-- span the rules leave free. Writes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- ARGV[1..9] now, and what judges, see fragments/judging.lua
-- ARGV[10] the time, Unix ms; "" for now
-- ARGV[11] start of the span, Unix ms; "" for no stretches
-- ARGV[12] end of the span, Unix ms, exclusive
-- ARGV[13] where a former call stopped, as in the reply; "" to start
--
-- Returns  {now, the time, where the next call continues or "", {from, until, ...} of the
--          free stretches, {used, from, until of the counted window} for each rule}. Each
--          call returns the rules and stretches that former ones did not; a stretch may
--          begin where the last one ended. Or {SETTINGS_CHANGED, ...}, see
--          fragments/settings.lua.
-- Cost     O(log n + k) in the user's n reservations, k of them in the span and a largest
--          window around it, and for some rules in twice their window around the time:
--          see fragments/fullest.lua. At most WORK steps a call (fragments/search.lua).

if #KEYS ~= 2 or #ARGV ~= 13 then
  return redis.error_reply('ERR place/usage.lua: wrong number of keys or arguments')
end
--@include moving

local timeline = KEYS[1]
--@include clock
--@include judging
local at = tonumber(ARGV[10]) or now
local span_from, span_till = tonumber(ARGV[11]), tonumber(ARGV[12])
--@include status
--@include settings
--@include policy
--@include category
--@include search
--@include fullest

local changed = settings_changed(KEYS[2], at)
if changed then return changed end
local rules = rules_of(rule_words, scope_words)
local lists = lists_of(rules)
local free = {}
local reply = {now, at, '', free}
oldest = now - keep

local function whole_words(numbers)
  for k = 1, #numbers do numbers[k] = string.format('%.0f', numbers[k]) end
  return table.concat(numbers, ' ')
end

-- How full the rules are, from the one on where a former call stopped: in its middle, or
-- before it.
local first_rule, state, stretches_from = 1, {}, nil
local numbers = {}
for word in string.gmatch(ARGV[13], '%S+') do numbers[#numbers + 1] = tonumber(word) end
if #numbers == 1 then
  first_rule, stretches_from = rules.count + 1, numbers[1]
elseif #numbers == 2 then
  first_rule = numbers[1]
elseif #numbers > 2 then
  first_rule, state = numbers[1], {next = numbers[2], used = numbers[3], from = numbers[4], least = numbers[5]}
end
for r = first_rule, rules.count do
  if spent > WORK then
    reply[3] = whole_words({r, 0})
    return reply
  end
  local window, key = rules.windows[r], lists[r].key
  if window > 0 then
    local used, from, steps = fullest(key, window, at, oldest, WORK - spent, state)
    spent = spent + steps
    if not from then
      reply[3] = whole_words({r, state.next, state.used, state.from, state.least})
      return reply
    end
    reply[#reply + 1], state = {used, from, from + window}, {}
  else
    local from, till = period(-window, at)
    reply[#reply + 1] = {count_in(key, from, till), from, till}
  end
end
if not span_from then return reply end
if first_rule <= rules.count and spent > WORK / 2 then
  reply[3] = whole_words({span_from})
  return reply
end

-- The free stretches: from a free time on, each rule says up to when it allows all
-- times. Quiet hours are none of its business.
quiet, during_from, during_till = '', -math.huge, math.huge
local readers = {}
for r = 1, rules.count do readers[lists[r]] = readers[lists[r]] or new_reader(lists[r], 1) end
local share = 0 -- of each rule in the work that is left

-- slides_until returns up to when sliding rule r, which allows u, allows all times; at
-- most `last`. It stops after its share of the work.
local function slides_until(r, u, last)
  local limit, window, reader, enough = rules.limits[r], rules.windows[r], readers[lists[r]], spent + share
  cover(reader, u)
  local times, j = reader.times, nil
  while true do
    -- A group whose last place is earlier does not forbid anything after u.
    j = j or less(times, u + window) + 1
    while j <= reader.count and times[j] - window + 1 < last do
      if j >= limit and times[j] - times[j - limit + 1] < window then return times[j] - window + 1 end
      spent, j = spent + 1, j + 1
      if spent > enough and times[j] and times[j] - window > u then return math.min(times[j] - window + 1, last) end
    end
    if j <= reader.count or reader.known - window + 1 >= last then return last end
    if spent > enough and reader.known - window + 1 > u + 1 then return math.min(reader.known - window + 1, last) end
    read_on(reader)
  end
end

-- periods_until returns the same for natural periods with room for less than `limit`.
local function periods_until(key, kind, limit, u, last)
  local enough = spent + share
  local _, till = kind(u)
  local _, ends = kind(last - 1)
  while till < last do
    local time = place_after(key, math.max(till, oldest), ends - 1, 0)
    if not time then return last end
    local from
    from, till = kind(time)
    if count_in(key, from, till) >= limit then return math.min(from, last) end
    spent = spent + 12
    if spent > enough then return math.min(till, last) end
  end
  return last
end

local function day_of(t)
  local from = t - t % DAY
  return from, from + DAY
end

local from = stretches_from or span_from
local next_free = new_search(rules, 1, from, nil, readers)
while from < span_till do
  local resume
  from, resume = next_free(span_till - 1)
  if not from then
    if resume then reply[3] = whole_words({resume}) end
    return reply
  end
  local till = span_till
  share = math.max(WORK - spent, 0) / math.max(rules.count, 1)
  for r = 1, rules.count do
    local window = rules.windows[r]
    if window > 0 then
      till = slides_until(r, from, till)
    else
      till = periods_until(lists[r].key, function(t) return period(-window, t) end, rules.limits[r], from, till)
    end
  end
  local set = set_of(rules)
  if most_places and redis.call('ZCARD', set) >= most_places then
    oldest = bounded_since
    till = periods_until(set, day_of, most_places, from, till)
    oldest = now - keep
  end
  free[#free + 1], free[#free + 2] = from, till
  if till >= span_till then return reply end
  if spent > WORK then
    reply[3] = whole_words({till})
    return reply
  end
  next_free = new_search(rules, 1, till, nil, readers)
  from = till
end
return reply
