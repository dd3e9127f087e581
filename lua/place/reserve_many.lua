-- place/reserve_many.lua: takes the places of several new messages of one user, in order.
--
-- Each answer is the one of place/reserve.lua for the same order. It stops before the first message
-- that needs more than a free or a refused place: it has a record, is to be shifted, is
-- past, is not covered by its hold, or may raise an alert. It also stops after a good part of a
-- call's work. The caller submits the others again.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  near list of the partition (ZSET: watch member -> when to check, Unix ms)
-- KEYS[4]  index of the ids, head (ZSET, see fragments/found.lua)
-- KEYS[5]  index of the campaigns, head (ZSET)
-- KEYS[6..] for each message, its keys 3, 5, 7 and 9 of place/reserve.lua: record, far list, shards
--          of the indexes. The ids of the messages differ
-- ARGV[1..9] now, rules and settings for all of them, see judge/arguments.lua
-- ARGV[10] "-" for refusals without free times, else ""
-- ARGV[11..14] ARGV[17], [19], [20] and [23] of place/reserve.lua: when alerts may be due, delay,
--          horizon and category
-- ARGV[15..] for each message, the number of its arguments, and these: of place/reserve.lua
--          ARGV[10] to [14], [18], [21], [22], [24] and from [25] on
--
-- Returns  {ALLOWED, now, an answer ...}: 1 for a place that was taken, else a refusal, see
--          judge/reply.lua; or {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     As place/reserve.lua for each message, but shared parts only once: 4 to 8 us.

local last, each = 14, {}
for k = 1, #KEYS - 5, 4 do
  each[(k + 3) / 4] = tonumber(ARGV[last + 1]) or 0
  last = last + 1 + each[(k + 3) / 4]
end
if #KEYS < 9 or #KEYS % 4 ~= 1 or last ~= #ARGV or math.min(unpack(each)) < 16 then
  return redis.error_reply('ERR place/reserve_many.lua: wrong number of keys or arguments')
end
--@include moving

local call = redis.call
local timeline = KEYS[1]
--@include clock
--@include judge/arguments
--@include status
--@include settings
--@include judge/reply
--@include judge/put_place
--@include watch
--@include found

local changed = settings_changed(KEYS[2])
if changed then return changed end
local answers, shared, given = {ALLOWED, now}, KEYS, ARGV
local records = {}
for k = 6, #shared, 4 do records[#records + 1] = shared[k] end
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

local first = 15
for k = 6, #shared, 4 do
  local KEYS = {timeline, shared[2], shared[k], shared[3], shared[k + 1], shared[4], shared[k + 2], shared[5],
    shared[k + 3]}
  local ARGV = {'', '', '', '', '', '', '', '', '', given[first + 1], given[first + 2], given[first + 3],
    given[first + 4], given[first + 5], given[10], '', given[11], given[first + 6], given[12], given[13],
    given[first + 7], given[first + 8], given[14], unpack(given, first + 9, first + given[first])}
  first = first + given[first] + 1
  local record, id, asked = KEYS[3], ARGV[10], tonumber(ARGV[11])
  local places = ARGV[23] ~= '' and (string.gsub(timeline, ':u:', ':c:' .. ARGV[23] .. ':', 1))
  own_places = places

  local plain = ARGV[12] ~= '' and asked and asked >= now and asked <= now + reach
    and asked >= during_from and asked < during_till
    and ARGV[14] - now - reach <= 2678400000 -- 31 days, see judge/reach.lua
  if plain and ARGV[18] ~= '' then
    local not_after, from, before, search_from = string.match(ARGV[18], '(%S+) (%S+) (%S+) (%S+)')
    plain = search_from == '.' and now <= (tonumber(not_after) or now)
      and asked >= (tonumber(from) or asked) and asked < (tonumber(before) or math.huge)
  end
  if not plain or q.spent > q.work / 4 then return answers end
  local broken = violations(q, rules, asked)
  if broken.free then
    if ARGV[17] ~= '' and count_in(list, tonumber(ARGV[12]), ARGV[13] + 1) + 1 - ARGV[17] >= 0 then
      return answers
    end
    local later, outlived = list.last > 0, false
--@include take_place
    if not taken then return answers end
    counts(id, asked)
    answers[#answers + 1] = 1
  else
    if call('ZSCORE', timeline, id) then return answers end
    answers[#answers + 1] = refusal(q, rules, asked, nil, broken, ARGV[15] == '-')
  end
end
return answers
