-- place/reserve.lua: takes the place of a message in its user's timeline, or returns why not.
--
-- It judges in the contract's order: replay, past or too far, blocked, quiet hours, rules, places
-- of the day. With a shift it takes the next free time instead of refusing. It writes place, record
-- and watch entry together; a refusal changes nothing. It also replaces the pending message with
-- the id, if the request says so, see fragments/replacement.lua.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); for
--          an uncounted message, the places beside it, see fragments/places.lua
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  message id
-- ARGV[5]  send time, Unix ms; "" for now
-- ARGV[6]  how the time may be chosen, see fragments/choice.lua
-- ARGV[7]  first ms around the send time that a rule or the bound of a day's places counts; ""
--          without a send time, in quiet hours, and for a blocked user
-- ARGV[8]  last ms around the send time that they count; "" as ARGV[7]
-- ARGV[9]  when the timeline may expire if this is its last message, Unix ms; ""
--          without a send time
-- ARGV[10] with KEYS[3]: delays, see fragments/watched.lua
-- ARGV[11] with KEYS[3]: watch word, see fragments/watch.lua
-- ARGV[12] with KEYS[3]: scores in the index, see fragments/scores.lua
-- ARGV[13] with KEYS[3]: generation
-- ARGV[14] with KEYS[3]: fingerprint
-- ARGV[15..] with KEYS[3]: further fields and values of the record: first "x" and "k", if it has
--          them, in this order; "y" last
--
-- Returns  only now, Unix ms: the requested place was taken; or
--          a decision, see judge/reply.lua; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + l) in the user's n reservations and the limits l of the rules. A
--          refusal also searches for free times before and after: O(m) in the
--          reservations between, at most q.work steps a call (judge/question.lua). A
--          rule of a category costs as much as without other categories.

if #KEYS == 2 and #ARGV ~= 9 or #KEYS ~= 2 and (#KEYS ~= 3 or #ARGV < 14 or #ARGV % 2 == 1) then
  return redis.error_reply('ERR place/reserve.lua: wrong number of keys or arguments')
end

local call = redis.call
local timeline, record, id = KEYS[1], KEYS[3], ARGV[4]
--@include clock
--@include judge/arguments
local asked = tonumber(ARGV[5]) or now
--@include choice

-- The common case first, before other code is even defined: a new message with too few neighbours
-- to forbid its time. Each call and each element costs time here.
--@include own_places
local as_before -- no record exists, Go used the present settings, and only rules and places can refuse
if is_covered and not knows_replaced and ARGV[7] ~= ''
    and asked >= now and asked <= now + reach and now <= (rules_until or now)
    and ARGV[9] - now - reach <= 2678400000 then -- 31 days: no expiry that may be too late
  local version = settings
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
-- window than its limit, and no account has used up its share of a day with fewer places. Counting
-- costs a fraction of reading: Redis writes each score as text. If an alert may be due, the place is
-- taken below.
local neighbours = as_before and call('ZCOUNT', timeline, ARGV[7], ARGV[8])
local bound, free = share_places or most_places, neighbours and true
if neighbours and bound and neighbours >= bound then
  local day = asked - asked % 86400000
  free = call('ZCOUNT', timeline, math.max(day, bounded_since), day + 86399999) < bound
end
if neighbours and neighbours > 0 then
  for limit, window in string.gmatch(rule_words, '(%S+) (%S+)') do
    limit = tonumber(limit)
    if neighbours >= limit then
      window = tonumber(window)
      free = free and window > 0 and call('ZCOUNT', timeline, string.format('%d', asked - window + 1),
        string.format('%d', asked + window - 1)) < limit
      if not free then break end
    end
  end
end
local simply = neighbours -- only rules and places can refuse, and no alert is due
if alert_from and neighbours and neighbours + 1 >= alert_from then simply, free = false, false end

local delays, watch_word, scores = ARGV[10], ARGV[11], ARGV[12] or ''
--@include watched
--@include scores
--@include watch
--@include found
--@include trim
local stay -- makes the writes of a dry run expire; nil without
if string.byte(ARGV[1]) == 126 then -- "~"
  function stay()
    local copies_stay = string.sub(ARGV[1], 2)
    call('PEXPIRE', timeline, copies_stay)
    if places then call('PEXPIRE', places, copies_stay) end
    if record then
      call('PEXPIRE', record, copies_stay)
      call('PEXPIRE', prefix .. 'watch', copies_stay)
      call('PEXPIRE', prefix .. 'far:' .. letter, copies_stay)
    end
  end
end

for _ = 1, 2 do -- a second time if its id has a place
  if not free then
--@include status
--@include judge/policy
--@include judge/reply
--@include judge/spread
    local rules = rules_of(rule_words, scope_words)
    if simply then
      local list, card = list_at(q, timeline), call('ZCARD', timeline)
      list.card = card
      local near = call('ZRANGE', timeline, ARGV[7], '+inf', 'BYSCORE', 'LIMIT', '0', '16', 'WITHSCORES')
      if #near < 32 then begin_with(list, 2 * card == #near and -math.huge or ARGV[7], near, 16) end
      local broken, has_place = violations(q, rules, asked), call('ZSCORE', timeline, id)
      free = broken.free and not has_place
      if not broken.free and not has_place and not until_at then
        return refusal(q, rules, asked, nil, broken, is_alone)
      end
    end
    if not free then
      local charge = record and ARGV[#ARGV - 1] == 'y' and ARGV[#ARGV] or ''
      local expiry = record and ARGV[15] == 'x' and tonumber(ARGV[16]) or nil
      local at, requested, shifted = asked, nil, false
--@include record
--@include settings
--@include judge/reach
--@include known
--@include hold
--@include replace
--@include remove_found
--@include rewatch
--@include former_place
--@include user_alert
      local answer = settings_changed(KEYS[2], resume_at or math.max(search_from or 0, asked, now))
        or known(asked, until_at, ARGV[13], ARGV[14], attempt_in(charge))
      if find_replaced and not answer then
        if only_replaces and not replaced then return {NOT_FOUND, now, 0, 0} end
        local is_held = former_at == ''
        if replaced then is_held = is_as(replaced.charged, replaced.at, former_attempt, former_at) end
        if not is_held then return {CHANGED, now, replaced and replaced.at or 0, 0} end
      end
      answer = answer or out_of_reach(asked) or expires_late(expiry, asked)
      if answer then
        if record and answer[1] == ALLOWED and not string.find(record, '^[^:]*%-dry%-') then -- a repeated submit
          rewatch(record, letter, suffix, horizon)
        end
        return answer
      end

      if asked < now then at, requested = now, asked end
      if blocked then return {BLOCKED, now, at, requested or 0} end
      local lost = not replaced and exclude_lost_place()
      if lost then rules = rules_of(rule_words, scope_words) end
      local broken
      if not resume_at then broken = violations(q, rules, at) end
      if resume_at or search_from or not broken.free then
        if not until_at then return refusal(q, rules, at, requested, broken, is_alone) end
        local spread = read_spread(spread_words, at, math.min(until_at, now + reach))
        local last = math.min(until_at, now + reach, (place_before or math.huge) - 1)
        local from = resume_at or math.max(search_from or at, at)
        if not resume_at and q.spent > q.work and from <= last then return {SEARCH_ON, now, from} end
        local time, resume = next_spread(q, rules, from, last, spread)
        if not resume and not time and q.spent > q.work / 2 and from < last then resume = last end
        if resume then return {SEARCH_ON, now, resume} end
        if not time and spread and (spread.delays or resume_at) and not place_before then return {SEARCH_ON, now, 0} end
        if not time then return refusal(q, rules, at, requested, broken or violations(q, rules, at)) end
        if time ~= at then at, requested, shifted = time, asked, true end
      end

      answer = outside(at) or replaced and moved_often(at)
      if answer then return answer end

      -- The watch entry first, the record last, after any alert: if the log is torn in between, the
      -- relay finds the entry without a record.
      local former, there = replaced and replaced.former or record and redis.call('HMGET', record, 'y', 'k', 'C'), false
      if record then
        there = replaced or redis.call('EXISTS', record) == 1 -- of an ended message with the same id
        add_entry(letter, at - horizon, look_after, ARGV[13] .. suffix)
        if id_score and not replaced then add_found('ids', letter, id_score, suffix, there) end
        if campaign_score then add_found('camps', letter, campaign_score, suffix, there) end
      end
      if record and not lost and not replaced then
        keep_former_place(former[2], redis.call('PEXPIRETIME', record))
      end
      redis.call('ZADD', timeline, at, id)
      if places then redis.call('ZADD', places, at, id) end
--@include outlive
      outlive(at, record and (expiry or at + expire_after), nil, category)
      local notice = alert_user(at)
      if record then
        if former[2] and former[2] ~= category then redis.call('ZREM', places_of(former[2]), id) end
        local fields = {'A', replaced and replaced.accepted or now, 'g', ARGV[13], 'f', ARGV[14], 't', at,
          unpack(ARGV, 15)}
        local function set(field, value) fields[#fields + 1], fields[#fields + 2] = field, value end
        if replaced and charge ~= '' then
          set('y', charged_on(former[1]))
        elseif former[1] then
          set('y', charged_anew(former[1]))
        end
        if requested then set('r', requested) end
        if shifted then set('h', 1) end
        if replaced then
--@include replaced
          keep_of_replaced(set, at)
          replace_record(record, fields)
          finish_replacement(at)
        elseif there then
          replace_record(record, fields)
          redis.call('PERSIST', record)
        else
          redis.call('HSET', record, unpack(fields))
        end
        if former[3] and not campaign_score then remove_found('camps', letter, suffix) end
      end
      if stay then stay() end
      local flags = shifted and SHIFTED or 0
      if not replaced then return {ALLOWED, now, at, requested or 0, flags, 0, notice} end
      return {ALLOWED, now, at, requested or 0, flags + SUPERSEDED + REPLACED, replaced.at, replaced.generation,
        replaced.due, notice}
    end
  end

--@include take_place
  if taken then
    if stay then stay() end
    if now % 16 == 0 then -- often enough
      trim(now - keep - 1, timeline)
      if places then trim(now - keep - 1, places) end
    end
    return now
  end
  simply, free = false, false
end
