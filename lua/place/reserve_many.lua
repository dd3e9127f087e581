-- place/reserve_many.lua: takes the places of several new messages of one user, in order.
--
-- Each answer is the one of place/reserve.lua for the same order. It stops before the first message
-- that needs more than a free or a refused place: it has a record, is to be shifted, is
-- past, is not covered by its hold, or may raise an alert. It also stops after a good part of a
-- call's work. The caller submits the others again.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3..] for each message its record. The ids of the messages differ
-- ARGV[1..3] now, settings and policy for all of them, see judge/arguments.lua
-- ARGV[4..] for each message, the number of its arguments, and these: ARGV[4] and all after it of
--          place/reserve.lua
--
-- Returns  {ALLOWED, now, an answer ...}: 1 for a place that was taken, else a refusal, see
--          judge/reply.lua; or {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     As place/reserve.lua for each message, but shared parts only once: 4 to 8 us.

local last, each = 3, {}
for k = 3, #KEYS do
  each[k - 2] = tonumber(ARGV[last + 1]) or 0
  last = last + 1 + each[k - 2]
end
if #KEYS < 3 or last ~= #ARGV or math.min(unpack(each)) < 11 then
  return redis.error_reply('ERR place/reserve_many.lua: wrong number of keys or arguments')
end
--@include moving

local call = redis.call
local timeline = KEYS[1]
--@include clock
--@include judge/policy
--@include status
--@include settings
--@include judge/reply
--@include judge/put_place
--@include watch
--@include found

local changed = settings_changed(KEYS[2])
if changed then return changed end
local answers, given, records = {ALLOWED, now}, ARGV, {unpack(KEYS, 3)}
if blocked or call('EXISTS', unpack(records)) > 0 then return answers end

local rules = rules_of(rule_words, scope_words)
local list = list_at(q, timeline)
list.card = call('ZCARD', timeline) + #records -- the maximum at the end
local own_places

-- counts adds a newly taken place to the read places.
local function counts(id, at)
  put_place(list, id, at)
  if rules.category then put_place(list_at(q, own_places), id, at) end
  for _, known in pairs(rules.periods or {}) do
    if at >= known.from and at < known.till then known.count = known.count + 1 end
  end
end

local first = 4
for k = 1, #records do
  local record = records[k]
  local ARGV = {given[1], given[2], given[3], unpack(given, first + 1, first + given[first])}
  first = first + given[first] + 1
  local id, asked = ARGV[4], tonumber(ARGV[5])
--@include own_places
  own_places = places

  if not asked then return answers end
--@include choice
  local is_plain = is_covered and ARGV[7] ~= '' and asked >= now and asked <= now + reach
    and asked >= during_from and asked < during_till
    and ARGV[9] - now - reach <= 2678400000 -- 31 days, see judge/reach.lua
  if not is_plain or q.spent > q.work / 4 then return answers end
  local broken = violations(q, rules, asked)
  if broken.free then
    if alert_from and count_in(list, tonumber(ARGV[7]), ARGV[8] + 1) + 1 >= alert_from then
      return answers
    end
    local delays, watch_word, scores = ARGV[10], ARGV[11], ARGV[12]
--@include watched
--@include scores
--@include take_place
    if not taken then return answers end
    counts(id, asked)
    answers[#answers + 1] = 1
  else
    if call('ZSCORE', timeline, id) then return answers end
    answers[#answers + 1] = refusal(q, rules, asked, nil, broken, is_alone)
  end
end
return answers
