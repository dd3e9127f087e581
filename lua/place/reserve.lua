-- place/reserve.lua: takes the place of a message in its user's timeline, or returns why not.
--
-- It judges in the contract's order: replay, past or too far, blocked, quiet hours, rules, places
-- of the day. With a shift it takes the next free time instead of refusing. It writes place, record
-- and watch entry together; a refusal changes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); for
--          an uncounted message, the places beside it, see fragments/places.lua
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[4]  near list of the partition (ZSET: watch member -> when to check, Unix ms); with KEYS[3]
-- KEYS[5]  far list of the message, see fragments/watch.lua (ZSET, the same); with KEYS[3]
-- KEYS[6]  index of the ids, head, see fragments/found.lua (ZSET); with KEYS[3]
-- KEYS[7]  index of the ids, shard of the message (ZSET); with KEYS[3]
-- KEYS[8]  index of the campaigns, head (ZSET); with KEYS[3]
-- KEYS[9]  index of the campaigns, shard of the message (ZSET); with KEYS[3]
-- ARGV[1..9] now, rules and settings, see judge/arguments.lua
-- ARGV[10] message id
-- ARGV[11] send time, Unix ms; "" for now
-- ARGV[12] first ms around the send time that a rule counts; "" without a send time, in quiet
--          hours, and for a blocked user
-- ARGV[13] last ms around the send time that a rule counts; "" as ARGV[12]
-- ARGV[14] when the timeline may expire if this is its last message, Unix ms; ""
--          without a send time
-- ARGV[15] last send time that a shift may use, Unix ms; "" for no shift, "-" for no shift and
--          a refusal without free times
-- ARGV[16] where a shift continues its search, Unix ms; "" to start at the send time
-- ARGV[17] number of places from ARGV[12] to ARGV[13] that may raise an alert; "" for
--          no alerts
-- ARGV[18] bounds of the place, see fragments/hold.lua
-- ARGV[19] with KEYS[3]: delay of the watch entry, ms
-- ARGV[20] with KEYS[3]: horizon, ms: how long before its time a message is handed over
-- ARGV[21] with KEYS[3]: watch member
-- ARGV[22] with KEYS[3]: when the message expires, Unix ms; or with a "+", ms after
--          its send time
-- ARGV[23] with KEYS[3]: category that counts the place; "" for none
-- ARGV[24] with KEYS[3]: score among the ids; "" to leave it out
-- ARGV[25] with KEYS[3]: score among the campaigns; "" without a campaign
-- ARGV[26..] with KEYS[3]: fields and values of the record: first "g", "f" and "t",
--          in this order; "y" last
--
-- Returns  only now, Unix ms: the requested place was taken; or
--          a decision, see judge/reply.lua; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + l) in the user's n reservations and the limits l of the rules. A
--          refusal also searches for free times before and after: O(m) in the
--          reservations between, at most q.work steps a call (judge/question.lua). A
--          rule of a category costs as much as without other categories.

if #KEYS == 2 and #ARGV ~= 18 or #KEYS ~= 2 and (#KEYS ~= 9 or #ARGV < 31 or #ARGV % 2 == 0) then
  return redis.error_reply('ERR place/reserve.lua: wrong number of keys or arguments')
end

local call = redis.call
local timeline, record, id = KEYS[1], KEYS[3], ARGV[10]
--@include clock
--@include judge/arguments
local asked = tonumber(ARGV[11]) or now

-- The common case first, before other code is even defined: a new message with too few neighbours
-- to forbid its time. Each call and each element costs time here.
local FEW, covered = 16, ARGV[18] == ''
local category = record and ARGV[23] ~= '' and ARGV[23]
-- The key of the category's places, see judge/category.lua.
local places = category and (string.gsub(timeline, ':u:', ':c:' .. ARGV[23] .. ':', 1))
if not covered then
  local not_after, from, before, search_from = string.match(ARGV[18], '(%S+) (%S+) (%S+) (%S+)')
  covered = search_from == '.' and now <= (tonumber(not_after) or now)
    and asked >= (tonumber(from) or asked) and asked < (tonumber(before) or math.huge)
end
local as_before -- no record exists, Go used the present settings, and only rules and places can refuse
if covered and ARGV[12] ~= '' and asked >= now and asked <= now + reach and now <= (rules_until or now)
    and ARGV[14] - now - reach <= 2678400000 then -- 31 days: no expiry that may be too late
  local version = ARGV[9]
  if version == '' then
    as_before = (record and call('EXISTS', record, KEYS[2]) or call('EXISTS', KEYS[2])) == 0
  else
    as_before = (version == '-' or call('HGET', KEYS[2], 'v') == version)
      and not (record and call('EXISTS', record) == 1)
  end
end
-- In a slot that moves, a script gets this far only if all KEYS are here, and then it does not take
-- this path with a record.
if not (as_before and record) then
--@include moving
end

-- With few neighbours, nothing needs to be judged: a rule can't break with fewer places within its
-- window than its limit, and no account has used up its share of a day with fewer places. Most
-- users have fewer in all. If an alert may be due, the place is taken below.
local near = as_before and call('ZRANGE', timeline, ARGV[12], '+inf', 'BYSCORE', 'LIMIT', '0', FEW, 'WITHSCORES')
local neighbours, bound, free = 0, share_places or most_places, near and true
local card = near and call('ZCARD', timeline)
if near and bound and card >= bound then
  local day = asked - asked % 86400000
  free = call('ZCOUNT', timeline, math.max(day, bounded_since), day + 86399999) < bound
end
local later, n = near and near[1], near and #near or 0
while n > 0 and near[n] - ARGV[13] > 0 do n = n - 2 end
if n > 0 then
  neighbours = n < 2 * FEW and n / 2 or call('ZCOUNT', timeline, ARGV[12], ARGV[13])
  for limit, window in string.gmatch(rule_words, '(%S+) (%S+)') do
    local within = neighbours
    limit, window = tonumber(limit), tonumber(window)
    if within >= limit and window > 0 then
      if n < 2 * FEW then
        within = 0
        for k = 2, n, 2 do
          local gap = near[k] - asked
          if gap < window and gap > -window then within = within + 1 end
        end
      else
        within = call('ZCOUNT', timeline, string.format('%.0f', asked - window + 1),
          string.format('%.0f', asked + window - 1))
      end
    end
    free = free and within < limit
    if not free then break end
  end
end
if ARGV[17] ~= '' and neighbours + 1 - ARGV[17] >= 0 then near, free = nil, false end

--@include watch
--@include found
--@include trim
local stay -- makes the writes of a dry run expire; nil without
if string.byte(ARGV[1]) == 126 then -- "~"
  function stay()
    local copies_stay = string.sub(ARGV[1], 2)
    for k = 1, #KEYS do
      if k ~= 2 then call('PEXPIRE', KEYS[k], copies_stay) end
    end
    if places then call('PEXPIRE', places, copies_stay) end
  end
end

for _ = 1, 2 do -- a second time if its id has a place
  if not free then
--@include status
--@include judge/reply
    local rules = rules_of(rule_words, scope_words)
    if near then
      local list = list_at(q, timeline)
      list.card = card
      if #near < 2 * FEW then begin_with(list, 2 * card == #near and -math.huge or ARGV[12], near, FEW) end
      local broken, has_place = violations(q, rules, asked), call('ZSCORE', timeline, id)
      free = broken.free and not has_place
      if not broken.free and not has_place and (ARGV[15] == '' or ARGV[15] == '-') then
        return refusal(q, rules, asked, nil, broken, ARGV[15] == '-')
      end
    end
    if not free then
      local until_at, resume_at = tonumber(ARGV[15]), tonumber(ARGV[16])
      local charge, bounds = record and ARGV[#ARGV - 1] == 'y' and ARGV[#ARGV] or '', ARGV[18]
      local search_from = tonumber(string.match(bounds, '%S+$') or '')
      local at, requested, shifted = asked, nil, false
--@include record
--@include settings
--@include judge/reach
--@include known
--@include hold
--@include replace
--@include rewatch
--@include former_place
--@include user_alert
      local answer = settings_changed(KEYS[2], resume_at or math.max(search_from or 0, asked, now))
        or known(asked, until_at, ARGV[27], ARGV[29], attempt_in(charge))
        or out_of_reach(asked) or expires_late(record and tonumber(string.match(ARGV[22], '^%d+$') or ''), asked)
      if answer then
        if record and answer[1] == ALLOWED and not string.find(record, '^[^:]*%-dry%-') then -- a repeated submit
          rewatch(record, KEYS[4], KEYS[5], string.sub(ARGV[21], #ARGV[27] + 1), ARGV[20])
        end
        return answer
      end

      if asked < now then at, requested = now, asked end
      if blocked then return {BLOCKED, now, at, requested or 0} end
      local lost = exclude_lost_place()
      if lost then rules = rules_of(rule_words, scope_words) end
      local broken
      if not resume_at then broken = violations(q, rules, at) end
      if resume_at or search_from or not broken.free then
        if not until_at then return refusal(q, rules, at, requested, broken, ARGV[15] == '-') end
        local last = math.min(until_at, now + reach, (place_before or math.huge) - 1)
        local from = resume_at or math.max(search_from or at, at)
        if not resume_at and q.spent > q.work and from <= last then return {SEARCH_ON, now, from} end
        local time, resume = next_free(q, rules, from, 1, last)
        if not resume and not time and q.spent > q.work / 2 and from < last then resume = last end
        if resume then return {SEARCH_ON, now, resume} end
        if not time then return refusal(q, rules, at, requested, broken or violations(q, rules, at)) end
        if time ~= at then at, requested, shifted = time, asked, true end
      end

      answer = outside(at)
      if answer then return answer end

      -- The watch entry first, the record last, after any alert: if the log is torn in between, the
      -- relay finds the entry without a record.
      local former, there = record and redis.call('HMGET', record, 'y', 'k', 'C'), false
      if record then
        there = redis.call('EXISTS', record) == 1 -- of an ended message with the same id
        add_entry(KEYS[4], KEYS[5], at - ARGV[20], ARGV[19], ARGV[21])
        local member = string.sub(ARGV[21], #ARGV[27] + 1) -- without the generation
        if ARGV[24] ~= '' then add_found(KEYS[6], KEYS[7], ARGV[24], member, there) end
        if ARGV[25] ~= '' then add_found(KEYS[8], KEYS[9], ARGV[25], member, there) end
      end
      if record and not lost then keep_former_place(former[2], redis.call('PEXPIRETIME', record)) end
      redis.call('ZADD', timeline, at, id)
      if places then redis.call('ZADD', places, at, id) end
--@include outlive
      local after = record and tonumber(string.match(ARGV[22], '^%+(.+)$') or '')
      outlive(at, record and (after and at + after or tonumber(ARGV[22])), nil, category)
      local notice = alert_user(at)
      if record then
        if former[2] and former[2] ~= category then redis.call('ZREM', places_of(former[2]), id) end
        local fields = {'A', now, unpack(ARGV, 26)}
        local function set(field, value) fields[#fields + 1], fields[#fields + 2] = field, value end
        set('t', at)
        if former[1] then set('y', charged_anew(former[1])) end
        if requested then set('r', requested) end
        if shifted then set('h', 1) end
        if there then replace_record(record, fields) else redis.call('HSET', record, unpack(fields)) end
        if former[3] and ARGV[25] == '' then remove_found(KEYS[8], KEYS[9], string.sub(ARGV[21], #ARGV[27] + 1)) end
      end
      if stay then stay() end
      return {ALLOWED, now, at, requested or 0, shifted and SHIFTED or 0, 0, notice}
    end
  end

  -- Other places, later ones too, may have been taken under rules with other windows. A place
  -- beyond everything that the rules count outlives this one, unless this message expires later or
  -- no rule judges it.
  local outlived = later and n == 0 and rule_words ~= '' and not (record and ARGV[14] - asked > keep)
--@include take_place
  if taken then
    if stay then stay() end
    if now % 16 == 0 then -- often enough
      trim(now - keep - 1, timeline)
      if places then trim(now - keep - 1, places) end
    end
    return now
  end
  near, free = nil, false
end
