-- refit/refit.lua: lists a user's reservations that do not fit the rules. Writes nothing.
--
-- It judges the reservations that are not due yet, in order of time, each with all due or sent
-- ones, those of exempt categories, and earlier ones that fit. A reservation that breaks a rule
-- among these does not fit, and does not count against later ones.
--
-- A calendar rule needs the number of reservations in its period. A sliding rule needs the nearest
-- ones on each side, as many as its limit. So a call reads and returns few, however many there are.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); or the places beside it, to
--          find those of categories that the user has switched off
-- KEYS[2]  the user's own settings (HASH, see fragments/settings.lua)
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  send time of the last reservation that earlier calls judged, Unix ms; "" for the first call
-- ARGV[5]  with ARGV[4]: state of the rules at that time, as in the reply
-- ARGV[6]  with ARGV[4]: id of the last reservation that earlier calls judged
-- ARGV[7]  what the user has switched off, which does not fit either: "*" for everything, else
--          categories between spaces, among them all; "" not to judge that
-- ARGV[8]  the user's own time zone, "" for none: a message that keeps its local time, read in another
--          zone, does not fit either; "." not to judge that
--
-- Returns  {ALLOWED, now, how many were judged, send time of the last one that this call judged
--          or 0 if it judged all, state of the rules at that time, id of the last one or "", {id,
--          send time, rule, category, expiry, how its local time was read or ""} of each that does
--          not fit ...}. rule is the number of the first rule that it breaks, overall ones first,
--          then its category's; 0 for quiet hours, -1 for do-not-disturb, -2 if the user is
--          blocked, -3 if the user opted out of its category, -4 if its local time was read in
--          another zone. category is "" for none, expiry 0 for the default.
--          Or {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + c) in the user's n reservations and the numbers in ARGV[5]: for each list
--          that rules count, at most the largest limit, and two a rule. And WORK steps. All
--          calls together read each reservation that is not due once, and no other record.

if #KEYS ~= 2 or #ARGV ~= 8 then
  return redis.error_reply('ERR refit/refit.lua: wrong number of keys or arguments')
end
--@include moving

local WORK = 2000 -- steps of judging in one call; reading a record takes LOOK of them
local LOOK = 4
local RULE = 1 / 2 -- steps for a rule
local NEIGHBOUR = 1 / 8 -- steps for comparing two times
local PAGE = 128 -- reservations read at once

local timeline = KEYS[1]
--@include clock
--@include judge/policy
--@include status
--@include judge/rules
--@include judge/question
--@include judge/quiet
--@include judge/ascending
--@include rank_behind
--@include settings
--@include other_zone
--@include record
--@include progress
--@include judge/category

local changed = settings_changed(KEYS[2])
if changed then return changed end

local work, off = 0, ARGV[7]

-- switched_off returns the number of the reason for which the user gets no message of a category,
-- nil for none.
local function switched_off(category)
  if off == '' or off == '*' then return off == '*' and -2 or nil end
  local name = category and table.concat({' ', category, ' '})
  if name and string.find(off, name, 1, true) then return -3 end
  local all = string.find(off, ' all ', 1, true)
  return all and not (name and string.find(q.wanted or '', name, 1, true)) and -3 or nil
end

-- The state from earlier calls: the time of began, then a part for each result of counted_under, in
-- that order.
local left, read_parts = {}, 0
for part in string.gmatch(ARGV[5], '([^;]*);') do left[#left + 1] = part end

local function next_part()
  read_parts = read_parts + 1
  local numbers = {}
  for n in string.gmatch(left[read_parts] or '', '%S+') do numbers[#numbers + 1] = tonumber(n) end
  return numbers
end

-- All up to this time stay: they are due, or other rules judge them.
local began = next_part()[1] or math.max(now, during_from - 1)
-- All up to this time are judged, or stay; at the time itself, up to come_id if that is given.
local come, come_id = tonumber(ARGV[4]) or began, ARGV[4] ~= '' and ARGV[6]

-- counted_under returns the places under a key that rules count: the send times that stay,
-- ascending, as many as matter to a sliding rule, and for each calendar rule the end of its last
-- period, with the number in it. most and longest are the largest limit and window of the sliding
-- rules; calendar has the numbers of the others. slides uses first and beyond.
local function counted_under(words, key)
  local rules, known = rules_of(words, ''), next_part()
  local counted = {key = key, rules = rules, begun = #known > 0, most = 0, longest = 0,
    calendar = {}, kept = {}, count = 0, till = {}, used = {}, first = {}, beyond = {}}
  for r = 1, rules.count do
    counted.till[r], counted.used[r] = known[2 * r - 1] or 0, known[2 * r] or 0
    if rules.windows[r] > 0 then
      counted.most = math.max(counted.most, rules.limits[r])
      counted.longest = math.max(counted.longest, rules.windows[r])
    else
      counted.calendar[#counted.calendar + 1] = r
    end
  end
  for k = 2 * rules.count + 1, #known do
    counted.count = counted.count + 1
    counted.kept[counted.count] = known[k]
  end
  return counted
end

-- begin reads the places up to `began` that matter.
local function begin(counted)
  counted.begun = true
  if counted.most == 0 then return end
  local last = redis.call('ZRANGE', counted.key, began, began - counted.longest + 1, 'BYSCORE', 'REV',
    'LIMIT', 0, counted.most, 'WITHSCORES')
  for k = #last, 2, -2 do
    counted.count = counted.count + 1
    counted.kept[counted.count] = tonumber(last[k])
  end
end

-- The rules of categories besides the overall rules, by name. counted is what the category's own
-- rules count.
local overall = counted_under(rule_words, timeline)
local counting = {overall}
local classes, plain, exempt = {}, {}, {}
for name, entry in string.gmatch(scope_words, '([^=,]+)=([^,]*)') do
  if string.sub(entry, 1, 1) == '!' then
    classes[name] = {exempt = true}
    if not switched_off(name) then exempt[#exempt + 1] = {key = places_of(name), next = 1} end
  else
    classes[name] = {name = name, counted = counted_under(entry, places_of(name))}
    counting[#counting + 1] = classes[name].counted
  end
end
if not overall.begun then begin(overall) end

local records_prefix = string.gsub(timeline, '^([^}]*}:)[^:]+:', '%1m:', 1)
records_prefix = records_prefix .. ':'

local own_zone = ARGV[8] ~= '' and ARGV[8] or nil

-- class_of returns the class of a message, its category if categories matter, and whether its local
-- time was read in another zone.
local function class_of(id)
  if scope_words == '' and off == '' and own_zone == '.' then return plain end
  work = work + LOOK
  local fields = redis.call('HMGET', records_prefix .. string.gsub(id, ':', '/'), 'k', 'W')
  local category = fields[1]
  local class = classes[category] or plain
  if class.counted and not class.counted.begun then begin(class.counted) end
  return class, category, own_zone ~= '.' and other_zone(fields[2], own_zone)
end

-- reservations_after returns a function that returns id and send time of the i-th reservation under
-- a key after a time, or after an id at that time; nil after the last.
local function reservations_after(key, time, after)
  local rank = after and rank_behind(key, time, after) or redis.call('ZCOUNT', key, '-inf', time)
  local ids, times, read, all_read = {}, {}, 0, false
  return function(i)
    while i > read and not all_read do
      local page = redis.call('ZRANGE', key, rank + read, rank + read + PAGE - 1, 'WITHSCORES')
      for k = 1, #page, 2 do
        read = read + 1
        ids[read], times[read] = page[k], tonumber(page[k + 1])
      end
      all_read = #page < 2 * PAGE
    end
    return ids[i], times[i]
  end
end

-- Exempt ones stay, also those later than the judged one. ahead has their times; from next_ahead on
-- they are not before the judged one. It has all that a sliding rule may count with that one, or as
-- many as the largest limit.
local ahead, last_ahead, next_ahead = {}, 0, 1

local function look_ahead(t)
  while next_ahead <= last_ahead and ahead[next_ahead] < t do next_ahead = next_ahead + 1 end
  while last_ahead - next_ahead + 1 < overall.most do
    local nearest, time = nil, t + overall.longest
    for k = 1, #exempt do
      local of = exempt[k]
      of.reservation = of.reservation or reservations_after(of.key, come, come_id)
      local _, at = of.reservation(of.next)
      if at and at < time then nearest, time = of, at end
      work = work + NEIGHBOUR
    end
    if not nearest then return end
    nearest.next = nearest.next + 1
    if time >= t then
      last_ahead = last_ahead + 1
      ahead[last_ahead] = time
    end
  end
end

-- slides reports whether t breaks a sliding rule: `limit` neighbours lie in a window that contains
-- it. Those ahead come last. For a rule, t never decreases.
local function slides(counted, r, limit, window, t)
  local kept, count = counted.kept, counted.count
  local full = count - limit + 1 -- from there on, as many as the limit stay
  if full > 0 and kept[full] > t - window then return true end
  -- A category with rules has no exempt ones.
  if counted ~= overall or next_ahead > last_ahead or ahead[next_ahead] >= t + window then return false end
  local first = first_from(kept, math.max(counted.first[r] or 1, full + 1), count, t - window + 1)
  local beyond = first_from(ahead, math.max(counted.beyond[r] or 1, next_ahead), last_ahead, t + window)
  counted.first[r], counted.beyond[r] = first, beyond
  local behind = count - first + 1 -- how many of the neighbours are not ahead
  work = work + 1
  for others = behind, math.max(limit - (beyond - next_ahead), 0), -1 do
    local start = others > 0 and kept[count - others + 1] or ahead[next_ahead]
    if ahead[next_ahead + limit - others - 1] - start < window then return true end
    work = work + NEIGHBOUR
  end
  return false
end

-- enter makes the period that contains t the current one of a calendar rule. All its exempt ones
-- count from then on.
local function enter(counted, r, t)
  if t < counted.till[r] then return end
  local from, till = clocks_of_zone().period(-counted.rules.windows[r], t)
  local used = from <= began and redis.call('ZCOUNT', counted.key, from, began) or 0
  for k = 1, counted == overall and #exempt or 0 do
    used = used + redis.call('ZCOUNT', exempt[k].key, math.max(from, began + 1), till - 1)
    work = work + LOOK
  end
  counted.till[r], counted.used[r] = till, used
end

-- fills reports whether t is in a full natural period.
local function fills(counted, r, limit, t)
  enter(counted, r, t)
  return counted.used[r] >= limit
end

local function broken(counted, t) -- the number of the first rule that t breaks
  local rules = counted.rules
  for r = 1, rules.count do
    work = work + RULE
    local limit, window = rules.limits[r], rules.windows[r]
    if window > 0 and slides(counted, r, limit, window, t) then return r end
    if window < 0 and fills(counted, r, limit, t) then return r end
  end
end

local function stay(counted, t, is_exempt)
  counted.count = counted.count + 1
  counted.kept[counted.count] = t
  if is_exempt then return end
  for k = 1, #counted.calendar do
    local r = counted.calendar[k]
    enter(counted, r, t)
    counted.used[r] = counted.used[r] + 1
  end
end

local function stays(t, class)
  stay(overall, t, class.exempt)
  if class.counted then stay(class.counted, t) end
  if class.exempt and ahead[next_ahead] == t then next_ahead = next_ahead + 1 end
end

-- left_over returns ARGV[5] for the next call.
local function left_over()
  local parts = {}
  local function add(n) parts[#parts + 1] = string.format('%.0f', n) end
  add(began)
  for k = 1, #counting do
    parts[#parts + 1] = ';'
    local counted = counting[k]
    for r = 1, counted.begun and counted.rules.count or 0 do
      add(counted.till[r])
      add(counted.used[r])
    end
    for i = math.max(counted.count - counted.most, 0) + 1, counted.count do
      if counted.kept[i] > come - counted.longest then add(counted.kept[i]) end
    end
  end
  parts[#parts + 1] = ';'
  return table.concat(parts, ' ')
end

-- misfit returns the reply's entry for a reservation, or nil if its message is not pending, or
-- reached a device and can't be moved.
local function misfit(id, t, rule)
  work = work + LOOK
  local r = redis.call('HMGET', records_prefix .. string.gsub(id, ':', '/'), 's', 'g', 'k', 'x', 'D', 'W')
  if state_of(r[1], r[2]) ~= PENDING or has_reached(r[5]) then return nil end
  return {id, t, rule, r[3] or '', tonumber(r[4] or 0), r[6] or ''}
end

local function judge(id, t, class)
  if class.exempt then return nil end
  if t < (q.disturb_from or t) then return misfit(id, t, -1) end
  if q.quiet_in and q.past_quiet(q.quiet_in(class.name), 1, t) then return misfit(id, t, 0) end
  local rule = broken(overall, t)
  if not rule and class.counted then
    rule = broken(class.counted, t)
    rule = rule and overall.rules.count + rule
  end
  return rule and misfit(id, t, rule)
end

local reply, judged = {ALLOWED, now, 0, 0, '', ''}, 0
local reservation = reservations_after(timeline, come, come_id)
local i, at, last_id = 1, -math.huge, '' -- at: the current millisecond of the loop
local id, t = reservation(i)
while t and t < during_till do
  if work > WORK and i > 1 then
    come = at
    reply[4], reply[5], reply[6] = come, left_over(), last_id
    break
  end
  if t > at then
    at = t
    look_ahead(t)
  end
  work = work + 1
  local class, category, rezoned = class_of(id)
  local found
  if t > now then
    local reason = switched_off(category) or rezoned and -4
    judged = judged + 1
    if reason then found = misfit(id, t, reason) else found = judge(id, t, class) end
  end
  if found then reply[#reply + 1] = found else stays(t, class) end
  i, last_id = i + 1, id
  id, t = reservation(i)
end
reply[3] = judged
return reply
