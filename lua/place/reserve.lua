-- place/reserve.lua: takes the place of a message in its user's timeline, or says why not.
--
-- It judges in the contract's order: replay, past or too far, blocked, quiet hours,
-- rules, places of the day. With a shift it takes the next free time instead of refusing. It writes place,
-- record and watch entry together; a refusal changes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); for
--          an uncounted message, the places beside it, see fragments/places.lua
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[4]  near list of the partition (ZSET: watch member -> when to look, Unix ms); with KEYS[3]
-- KEYS[5]  far list of the message, see fragments/watch.lua (ZSET, the same); with KEYS[3]
-- KEYS[6]  index of the ids, head, see fragments/found.lua (ZSET); with KEYS[3]
-- KEYS[7]  index of the ids, shard of the message (ZSET); with KEYS[3]
-- KEYS[8]  index of the campaigns, head (ZSET); with KEYS[3]
-- KEYS[9]  index of the campaigns, shard of the message (ZSET); with KEYS[3]
-- ARGV[1..9] now, and what judges, see fragments/judging.lua
-- ARGV[10] message id
-- ARGV[11] send time, Unix ms; "" for now
-- ARGV[12] first ms that any rule looks at around the send time; "" without a send
--          time, in quiet hours, and for a blocked user
-- ARGV[13] last ms that any rule looks at around the send time; "" as ARGV[12]
-- ARGV[14] when the timeline may expire if this is its last message, Unix ms; ""
--          without a send time
-- ARGV[15] last send time that a shift may take, Unix ms; "" for no shift, "-" for none
--          and a refusal without free times
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
--          a decision, see fragments/decision.lua; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + l) in the user's n reservations and the limits l of the rules. A
--          refusal also searches for free times before and after: O(m) in the
--          reservations between, at most WORK steps a call (fragments/search.lua). A
--          rule of a category costs what it would if there were no others.

if #KEYS == 2 and #ARGV ~= 18 or #KEYS ~= 2 and (#KEYS ~= 9 or #ARGV < 31 or #ARGV % 2 == 0) then
  return redis.error_reply('ERR place/reserve.lua: wrong number of keys or arguments')
end

local call = redis.call
local timeline, record, id = KEYS[1], KEYS[3], ARGV[10]
--@include clock
local asked = tonumber(ARGV[11]) or now

-- The common case first, before other code is even defined: a new message whose
-- neighbours are too few to forbid its time. Each call and each element read costs
-- here: it reads a few neighbours, and only counts more.
local FEW, taken, alerting, neighbours, covered = 4, false, false, 0, ARGV[18] == ''
local category = record and ARGV[23] ~= '' and ARGV[23]
-- The key of the category's places, see fragments/category.lua.
local places = category and (string.gsub(timeline, ':u:', ':c:' .. ARGV[23] .. ':', 1))
if not covered then
  local not_after, from, before, search_from = string.match(ARGV[18], '(%S+) (%S+) (%S+) (%S+)')
  covered = search_from == '.' and now <= (tonumber(not_after) or now)
    and asked >= (tonumber(from) or asked) and asked < (tonumber(before) or math.huge)
end
local as_before -- there is no record, and Go used the present settings
local reach_ms, most, since, of_account = string.match(ARGV[3], '^(%d+) ?(%d*) ?(%d*) ?(%d*)')
if of_account ~= '' then most = of_account end -- with fewer places, nobody has more than it
if covered and ARGV[12] ~= '' and asked >= now and asked <= now + reach_ms
    and now <= (tonumber(string.match(ARGV[1], '^!(%d+)$') or '') or now)
    and ARGV[14] - now - reach_ms <= 2678400000 then -- 31 days: no expiry that may be too late
  local version = ARGV[9]
  if version == '' then
    as_before = (record and call('EXISTS', record, KEYS[2]) or call('EXISTS', KEYS[2])) == 0
  else
    as_before = (version == '-' or call('HGET', KEYS[2], 'v') == version)
      and not (record and call('EXISTS', record) == 1)
  end
end
-- In a slot that moves, a script gets so far only if all KEYS are here, and then it does not
-- take this way with a record.
if not (as_before and record) then
--@include moving
end
--@include watch
--@include found
if as_before then
  local near = call('ZRANGE', timeline, ARGV[12], '+inf', 'BYSCORE', 'LIMIT', '0', FEW, 'WITHSCORES')
  local free, outlived, sized, few, later = true, false, 0, true, near[1]
  if later and near[2] - ARGV[13] > 0 then
    -- A place later than all that the rules look at outlives this one, unless this
    -- message expires later or no rule judges it.
    outlived = ARGV[4] ~= '' and not (record and ARGV[14] - asked > tonumber(ARGV[2]))
  elseif later then
    while near[#near] - ARGV[13] > 0 do near[#near], near[#near - 1] = nil, nil end
    local limit
    neighbours = #near / 2
    few = neighbours < FEW
    if not few then neighbours = call('ZCOUNT', timeline, ARGV[12], ARGV[13]) end
    for word in string.gmatch(ARGV[4], '%S+') do
      if not limit then
        limit = tonumber(word)
      else
        -- A rule can't break with fewer neighbours than its limit.
        if neighbours >= limit then
          local window, within = tonumber(word), 0
          if few then
            for k = 2, #near, 2 do
              local gap = near[k] - asked
              if gap < window and gap > -window then within = within + 1 end
            end
          elseif window > 0 then
            within = call('ZCOUNT', timeline, string.format('%.0f', asked - window + 1),
              string.format('%.0f', asked + window - 1))
          end
          free = window > 0 and within < limit
          if not free then
            sized = math.max(window, 0)
            break
          end
        end
        limit = nil
      end
    end
  end
  if not free then
--@include judge_near
  end
  if free and most ~= '' and call('ZCARD', timeline) - most >= 0 then -- see fragments/full_day.lua
    local day = asked - asked % 86400000
    free = call('ZCOUNT', timeline, math.max(day, now - since), day + 86399999) - most < 0
  end
  -- NX: the id may have another time already; the code below finds that out.
  if free and call('ZADD', timeline, 'NX', ARGV[11], id) == 1 then
    -- Other places, later ones too, may have been taken under rules with other
    -- windows; a new timeline has no expiry.
    if not outlived and call('PEXPIREAT', timeline, ARGV[14], 'GT') == 0 and not later then
      call('PEXPIREAT', timeline, ARGV[14], 'NX')
    end
    if record then
      add_entry(KEYS[4], KEYS[5], asked - ARGV[20], ARGV[19], ARGV[21])
      local member = string.sub(ARGV[21], #ARGV[27] + 1) -- without the generation
      if ARGV[24] ~= '' then add_found(KEYS[6], KEYS[7], ARGV[24], member) end
      if ARGV[25] ~= '' then add_found(KEYS[8], KEYS[9], ARGV[25], member) end
    end
    if places then
      call('ZADD', places, ARGV[11], id)
      if call('PEXPIREAT', places, ARGV[14], 'GT') == 0 then call('PEXPIREAT', places, ARGV[14], 'NX') end
    end
    neighbours = neighbours + 1
    alerting = ARGV[17] ~= '' and neighbours - ARGV[17] >= 0
    if record and not alerting then call('HSET', record, 'A', now, unpack(ARGV, 26)) end -- last: see below
    if string.byte(ARGV[1]) == 126 then -- "~": a dry run writes copies
      for k = 1, #KEYS do
        if k ~= 2 then call('PEXPIRE', KEYS[k], string.sub(ARGV[1], 2)) end
      end
      if places then call('PEXPIRE', places, string.sub(ARGV[1], 2)) end
    end
    taken = true
  end
end

if taken and not alerting and now % 16 > 0 then return now end

--@include trim
if taken then
  if now % 16 == 0 then -- often enough
    trim(now - ARGV[2] - 1, timeline)
    if places then trim(now - ARGV[2] - 1, places) end
  end
  if not alerting then return now end
end

--@include judging
local until_at, resume_at = tonumber(ARGV[15]), tonumber(ARGV[16])
local charge, bounds = record and ARGV[#ARGV - 1] == 'y' and ARGV[#ARGV] or '', ARGV[18]
local search_from = tonumber(string.match(bounds, '%S+$') or '')
--@include status
--@include record
--@include settings
--@include policy
--@include category
--@include search
--@include decision
--@include known
--@include hold
--@include replace
--@include rewatch
--@include former_place
--@include user_alert

local at, requested, shifted, notice = asked, nil, false
if not taken then
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
  local rules = rules_of(rule_words, scope_words)
  local lost = lost_place()
  local broken, readers
  if not resume_at then broken, readers = violations(rules, at, lost) end
  if resume_at or search_from or not broken.free then
    if not until_at then return refusal(rules, at, requested, broken, readers, lost, ARGV[15] == '-') end
    local last = math.min(until_at, now + reach, (place_before or math.huge) - 1)
    local from = resume_at or math.max(search_from or at, at)
    if not resume_at and spent > WORK and from <= last then return {SEARCH_ON, now, from} end
    if resume_at or search_from then readers = nil end
    local excluded = lost and {[lost] = true}
    local free, resume = new_search(rules, 1, from, excluded, readers)(last)
    if not resume and not free and spent > WORK / 2 and from < last then resume = last end
    if resume then return {SEARCH_ON, now, resume} end
    if not free then return refusal(rules, at, requested, broken or violations(rules, at, lost), nil, lost) end
    if free ~= at then at, requested, shifted = free, asked, true end
  end

  answer = outside(at)
  if answer then return answer end

  -- The watch entry first, the record last, behind an alert too: if the log is torn in between, a later look finds
  -- what has no record.
  local former, there = record and redis.call('HMGET', record, 'y', 'k', 'C'), false
  if record then
    there = redis.call('EXISTS', record) == 1 -- of a message that gave its id back
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
  notice = alert_user(at)
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
  local copies_stay = string.match(ARGV[1], '^~(%d+)$')
  for k = 1, copies_stay and #KEYS or 0 do
    if k ~= 2 then redis.call('PEXPIRE', KEYS[k], copies_stay) end
  end
  if copies_stay and places then redis.call('PEXPIRE', places, copies_stay) end
else
  notice = alert_user(at)
  if record then redis.call('HSET', record, 'A', now, unpack(ARGV, 26)) end
  if not notice then return now end
end
return {ALLOWED, now, at, requested or 0, shifted and SHIFTED or 0, 0, notice}
