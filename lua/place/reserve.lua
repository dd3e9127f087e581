-- place/reserve.lua: takes the place of a message in its user's timeline, or says why not.
--
-- Judges in the contract's order: replay, past or too far, blocked, quiet hours,
-- rules. With a shift it takes the next free time instead of refusing. Writes
-- nothing unless it takes the place; then place, record and watch entry together.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); of a
--          message that does not count, its places beside that, see fragments/places.lua
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[4]  watch list of the partition (ZSET: watch member -> when to look, Unix ms); with KEYS[3]
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  send time, Unix ms; "" for now
-- ARGV[4]  first ms that any rule looks at around the send time; "" with ARGV[3],
--          for a send time in quiet hours and for a user who is blocked
-- ARGV[5]  last ms that any rule looks at around the send time; "" with ARGV[3]
-- ARGV[6]  when the timeline may expire if this is its last message, Unix ms; "" with ARGV[3]
-- ARGV[7]  largest window of the rules and the grace, ms: what is older is forgotten
-- ARGV[8]  reach of schedules, ms after now
-- ARGV[9]  the rules, see fragments/policy.lua
-- ARGV[10] the time zone's offsets, see fragments/zone.lua; where there are quiet
--          hours, "#" and those follow, see fragments/quiet.lua
-- ARGV[11] last send time a shift may take, Unix ms, and after a space where it goes
--          on searching, if not at the send time; "" for no shift
-- ARGV[12] whose rules they are, see fragments/policy.lua
-- ARGV[13] how many places may alert the user, counted as ARGV[4] and ARGV[5] say;
--          "" for no alerts
-- ARGV[14] what to alert of, see fragments/user_alert.lua
-- ARGV[15] what bounds the place, see fragments/hold.lua
-- ARGV[16] the settings that Go used, see fragments/settings.lua
-- ARGV[17] with KEYS[3]: delay of the watch entry, ms
-- ARGV[18] with KEYS[3]: watch member
-- ARGV[19] with KEYS[3]: when the message expires, Unix ms; or with a "+", ms after
--          its send time
-- ARGV[20..] with KEYS[3]: the record's fields and values, of which "g", "f"
--          and "t" come first, in this order, and "y" last
--
-- Returns  now, Unix ms, alone: the place asked for was taken; or
--          a decision, see fragments/decision.lua; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + k) in the user's n reservations, k of them within the
--          largest window around the send time. A refusal also searches for the
--          free times: O(m) in the reservations between the send time and them,
--          at most WORK steps a call (fragments/search.lua) in either direction. For
--          rules of a category records of these are read, where it matters.

if #KEYS == 2 and #ARGV ~= 16 or #KEYS ~= 2 and (#KEYS ~= 4 or #ARGV < 25 or #ARGV % 2 == 0) then
  return redis.error_reply('ERR place/reserve.lua: wrong number of keys or arguments')
end

local call = redis.call
local timeline, record, id = KEYS[1], KEYS[3], ARGV[2]
--@include clock
local asked = tonumber(ARGV[3]) or now

-- The common case first, before anything else is even defined: a new message
-- at a time that nothing is near enough to forbid. Every call and every element
-- read counts here: a few neighbours are read, more are counted.
local FEW, taken, neighbours, covered = 4, false, 0, ARGV[15] == ''
if not covered then
  local not_after, before, search_from = string.match(ARGV[15], '(%S+) (%S+) (%S+)')
  covered = search_from == '.' and now <= (tonumber(not_after) or now)
    and asked < (tonumber(before) or math.huge)
end
local as_before -- neither the record nor other settings than Go used are there
if covered and ARGV[4] ~= '' and asked >= now and asked <= now + ARGV[8] then
  local version = ARGV[16]
  if version == '' then
    as_before = (record and call('EXISTS', record, KEYS[2]) or call('EXISTS', KEYS[2])) == 0
  else
    as_before = (version == '-' or call('HGET', KEYS[2], 'v') == version)
      and not (record and call('EXISTS', record) == 1)
  end
end
if as_before then
  local first = call('ZRANGE', timeline, ARGV[4], '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')
  local free, outlived = true, false
  if first[1] and first[2] - ARGV[5] > 0 then
    -- A place after all that the rules look at is there for longer than this one
    -- counts, unless this message lives longer or is judged by none of them.
    outlived = ARGV[9] ~= '' and not (record and ARGV[6] - asked > tonumber(ARGV[7]))
  elseif first[1] then
    local near = call('ZRANGE', timeline, ARGV[4], ARGV[5], 'BYSCORE', 'LIMIT', '0', FEW, 'WITHSCORES')
    local limit
    neighbours = #near / 2
    local few = neighbours < FEW
    if not few then neighbours = call('ZCOUNT', timeline, ARGV[4], ARGV[5]) end
    for word in string.gmatch(ARGV[9], '%S+') do
      if not limit then
        limit = tonumber(word)
      else
        -- With fewer neighbours than its limit, a rule holds whatever they are.
        if neighbours >= limit then
          local window, within = tonumber(word), 0
          if few then
            for k = 2, #near, 2 do
              local gap = near[k] - asked
              if gap < window and gap > -window then within = within + 1 end
            end
          elseif window > 0 then
            within = call('ZCOUNT', timeline, asked - window + 1, asked + window - 1)
          end
          free = window > 0 and within < limit
          if not free then break end
        end
        limit = nil
      end
    end
  end
  -- NX: the same id may stand at another time, which the rest finds out.
  if free and call('ZADD', timeline, 'NX', ARGV[3], id) == 1 then
    -- Any other place, later ones too, may have been taken under rules with shorter
    -- or longer windows; a new timeline has no expiry.
    if not outlived and call('PEXPIREAT', timeline, ARGV[6], 'GT') == 0 and not first[1] then
      call('PEXPIREAT', timeline, ARGV[6], 'NX')
    end
    if record then
      call('HSET', record, unpack(ARGV, 20))
      call('ZADD', KEYS[4], now + ARGV[17], ARGV[18])
    end
    taken = true
    neighbours = neighbours + 1
  end
end

local alerting = ARGV[13] ~= '' and taken and neighbours - ARGV[13] >= 0
if taken and not alerting and now % 16 > 0 then return now end

--@include trim
if taken then
  if now % 16 == 0 then trim(now - ARGV[7] - 1, timeline) end -- often enough: what is forgotten never piles up
  if not alerting then return now end
end

local keep, reach = tonumber(ARGV[7]), tonumber(ARGV[8])
local offsets, quiet = string.match(ARGV[10], '^([^#]*)#?(.*)$')
local settings = ARGV[16]
local until_at, resume_at = string.match(ARGV[11], '^(%S*) ?(%S*)$')
until_at, resume_at = tonumber(until_at), tonumber(resume_at)
local charge, bounds = record and ARGV[#ARGV - 1] == 'y' and ARGV[#ARGV] or '', ARGV[15]
local search_from = tonumber(string.match(bounds, '%S+$') or '')
--@include status
--@include record
--@include settings
--@include policy
--@include search
--@include decision
--@include known
--@include hold

local at, requested, shifted = asked, nil, false
if not taken then
  local answer = settings_changed(KEYS[2]) or known(asked, until_at, ARGV[21], ARGV[23], attempt_in(charge))
    or out_of_reach(asked)
  if answer then return answer end

  if asked < now then at, requested = now, asked end
  if blocked then return {BLOCKED, now, at, requested or 0} end
  local rules = rules_of(ARGV[9], ARGV[12])
  local broken, near = violations(rules, at, nil)
  if not broken.free or search_from then
    if not until_at then return refusal(rules, at, requested, broken, near, nil) end
    local last = math.min(until_at, now + reach, (place_before or math.huge) - 1)
    resume_at = resume_at or search_from and math.max(search_from, at)
    local free, resume = new_search(rules, 1, resume_at or at, nil, not resume_at and near or nil)(last)
    if resume then return {SEARCH_ON, now, resume} end
    if not free then return refusal(rules, at, requested, broken, near, nil) end
    if free ~= at then at, requested, shifted = free, asked, true end
  end

  answer = outside(at)
  if answer then return answer end

  redis.call('ZADD', timeline, at, id)
--@include outlive
  local after = record and tonumber(string.match(ARGV[19], '^%+(.+)$') or '')
  outlive(at, record and (after and at + after or tonumber(ARGV[19])))
  if record then
    local former = redis.call('HGET', record, 'y')
    redis.call('DEL', record) -- of a message that gave its id back
    redis.call('HSET', record, unpack(ARGV, 20))
    if former then redis.call('HSET', record, 'y', charged_anew(former)) end
    redis.call('HSET', record, 't', at)
    if requested then redis.call('HSET', record, 'r', requested) end
    if shifted then redis.call('HSET', record, 'h', 1) end
    redis.call('ZADD', KEYS[4], now + ARGV[17], ARGV[18])
  end
end

--@include user_alert
local notice = alert_user(ARGV[14], at)
if taken and not notice then return now end
return {ALLOWED, now, at, requested or 0, shifted and SHIFTED or 0, 0, notice}
