-- refit.lua: which of a user's reservations do not fit the rules. Writes nothing.
--
-- Those that are not due yet are judged by time, each together with all that are
-- due or were sent, with those of exempt categories and with the ones before it
-- that stay. What breaks nothing among these stays; the others do not fit, and do
-- not count against those after them.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  the user's own settings (HASH, see fragments/settings.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  the overall rules, see fragments/policy.lua
-- ARGV[3]  the time zone's offsets, see fragments/zone.lua
-- ARGV[4]  the rules of categories, see fragments/policy.lua
-- ARGV[5]  quiet hours, see fragments/quiet.lua
-- ARGV[6]  settings that Go used, see fragments/settings.lua
-- ARGV[7]  up to which send time reservations were judged by earlier calls, Unix
--          ms; "" for the first
-- ARGV[8]  with ARGV[7]: ids of those among them that do not fit, separated by spaces
--
-- Returns  {ALLOWED, now, how many were judged, up to when or 0 where these were
--          all, then of each that does not fit {id, send time, rule, category,
--          expiry}}: the number of the first rule that it breaks, the overall ones
--          coming first, then its category's, 0 for quiet hours; "" for no category,
--          0 for no expiry of its own; or what fragments/settings.lua says.
-- Cost     O(log n + m) in the user's n reservations, m of those in a largest
--          window before the first that is judged, and at most WORK steps after that,
--          or as many as the reservations of one millisecond need.

if #KEYS ~= 2 or #ARGV ~= 8 then
  return redis.error_reply('ERR refit.lua: wrong number of keys or arguments')
end

local WORK = 2000 -- steps of judging in one call; a look at a record is LOOK of them
local LOOK = 4
local PAGE = 128 -- reservations read at once

local timeline = KEYS[1]
--@include clock
local overall_words, offsets, categories, quiet, settings = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
--@include status
--@include policy
--@include quiet
--@include settings
--@include category
--@include record

local changed = settings_changed(KEYS[2])
if changed then return changed end

local work = 0
local judged_till = math.max(now, tonumber(ARGV[7]) or now)
local unfit = {}
for id in string.gmatch(ARGV[8], '%S+') do unfit[id] = true end

-- counted_under gives what rules count: the send times that stay, ascending, and
-- of each calendar rule the period looked at last, with how many are in it.
local function counted_under(words)
  local rules = rules_of(words, '')
  return {rules = rules, kept = {}, count = 0, till = {}, used = {}}
end

-- What a category is judged by beside the overall rules, by its name, false for
-- none: counted is what its own rules count.
local overall = counted_under(overall_words)
local classes, plain = {}, {}
local some_exempt = false
local longest = {overall.rules}
for name, entry in string.gmatch(categories, '([^=,]+)=([^,]*)') do
  if string.sub(entry, 1, 1) == '!' then
    classes[name], some_exempt = {exempt = true}, true
  else
    classes[name] = {counted = counted_under(entry)}
    longest[#longest + 1] = classes[name].counted.rules
  end
end

local function class_of(id)
  if categories == '' then return plain end
  work = work + LOOK
  return classes[category_of(id)] or plain
end

-- The reservations from the first on that a rule counts with one not judged yet.
local from = judged_till
for k = 1, #longest do
  for r = 1, longest[k].count do
    local window = longest[k].windows[r]
    from = math.min(from, window > 0 and judged_till - window + 1 or (period(-window, judged_till)))
  end
end
local rank = redis.call('ZCOUNT', timeline, '-inf', from - 1)
local ids, times, read, all_read = {}, {}, 0, false

local function time_of(i) -- of the i-th of them; nil after the last
  while i > read and not all_read do
    local page = redis.call('ZRANGE', timeline, rank + read, rank + read + PAGE - 1, 'WITHSCORES')
    for k = 1, #page, 2 do
      read = read + 1
      ids[read], times[read] = page[k], tonumber(page[k + 1])
    end
    all_read = #page < 2 * PAGE
  end
  return times[i]
end

-- Exempt ones stay also where they are later than the one that is judged: ahead
-- has the times of those from the one at next_ahead on, up to the reservation at
-- looked_ahead.
local ahead, ahead_count, next_ahead, looked_ahead = {}, 0, 1, 0

local function look_ahead(i, till) -- after the i-th
  if not some_exempt then return end
  looked_ahead = math.max(looked_ahead, i)
  while (time_of(looked_ahead + 1) or till) < till do
    looked_ahead = looked_ahead + 1
    if class_of(ids[looked_ahead]).exempt then
      ahead_count = ahead_count + 1
      ahead[ahead_count] = times[looked_ahead]
    end
  end
end

-- slides says whether the i-th breaks a sliding rule: `limit` neighbours, of which
-- those ahead come last, lie in a window that contains it.
local function slides(counted, i, limit, window)
  local t, kept, count = times[i], counted.kept, counted.count
  local first = kept[count - limit + 1]
  if first and first > t - window then return true end
  if counted ~= overall then return false end -- no exempt one is of its category
  look_ahead(i, t + window)
  local behind = math.min(limit - 1, count) -- how many of the neighbours are not ahead
  while behind >= 0 do
    local last = ahead[next_ahead + limit - behind - 1]
    if not last or last >= t + window then return false end
    first = behind > 0 and kept[count - behind + 1] or ahead[next_ahead]
    if first > t - window and last - first < window then return true end
    behind = behind - 1
    work = work + 1
  end
  return false
end

-- fills says whether the i-th is in a natural period that is full.
local function fills(counted, i, r, limit, kind)
  local t, kept = times[i], counted.kept
  if t >= (counted.till[r] or t) then
    local start
    start, counted.till[r] = period(kind, t)
    local k = counted.count
    while k > 0 and kept[k] >= start do k = k - 1 end
    counted.used[r] = counted.count - k
    work = work + counted.used[r]
  end
  local used, till = counted.used[r], counted.till[r]
  if counted ~= overall then return used >= limit end
  look_ahead(i, till)
  local k = next_ahead
  while used < limit and k <= ahead_count and ahead[k] < till do
    k, used = k + 1, used + 1
    work = work + 1
  end
  return used >= limit
end

local function broken(counted, i) -- the number of the first rule that the i-th breaks
  local rules = counted.rules
  for r = 1, rules.count do
    local limit, window = rules.limits[r], rules.windows[r]
    if window > 0 and slides(counted, i, limit, window) then return r end
    if window < 0 and fills(counted, i, r, limit, -window) then return r end
  end
end

local function stay(counted, t)
  counted.count = counted.count + 1
  counted.kept[counted.count] = t
  for r, till in pairs(counted.till) do
    if t < till then counted.used[r] = counted.used[r] + 1 end
  end
end

local function stays(i, class)
  stay(overall, times[i])
  if class.counted then stay(class.counted, times[i]) end
  if class.exempt and i <= looked_ahead then next_ahead = next_ahead + 1 end
end

-- misfit gives what the reply says of the i-th, or nil where no message is to be
-- sent there any more.
local function misfit(i, rule)
  work = work + LOOK
  local r = redis.call('HMGET', records_prefix .. string.gsub(ids[i], ':', '/'), 's', 'g', 'k', 'x')
  if state_of(r[1], r[2]) ~= PENDING then return nil end
  return {ids[i], times[i], rule, r[3] or '', tonumber(r[4] or 0)}
end

local function judge(i, class)
  if class.exempt then return nil end
  if past_quiet(1, times[i]) then return misfit(i, 0) end
  local rule = broken(overall, i)
  if not rule and class.counted then
    rule = broken(class.counted, i)
    rule = rule and overall.rules.count + rule
  end
  return rule and misfit(i, rule)
end

local reply, judged = {ALLOWED, now, 0, 0}, 0
local i, t = 1, time_of(1)
while t do
  local class = class_of(ids[i])
  if t <= judged_till then
    if not unfit[ids[i]] then stays(i, class) end
    work = 0
  else
    if work > WORK and t > times[i - 1] and times[i - 1] > judged_till then
      reply[4] = times[i - 1]
      break
    end
    work = work + 1
    judged = judged + 1
    local found = judge(i, class)
    if found then reply[#reply + 1] = found else stays(i, class) end
  end
  i = i + 1
  t = time_of(i)
end
reply[3] = judged
return reply
