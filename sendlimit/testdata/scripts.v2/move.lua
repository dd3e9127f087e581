-- move.lua: gives a reservation another place, or says why not.
--
-- The reservation's own place does not count against the new one, and is kept
-- when the new one is refused. A message can be moved until it is being sent.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[3]  watch list of the partition (ZSET: watch member -> when to look, Unix ms); with KEYS[2]
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  new send time, Unix ms; "" for now
-- ARGV[4]  largest window of the rules and the grace, ms: what is older is forgotten
-- ARGV[5]  reach of schedules, ms after now
-- ARGV[6]  the rules, see fragments/policy.lua
-- ARGV[7]  the time zone's offsets, see fragments/policy.lua
-- ARGV[8]  what to alert of, see fragments/user_alert.lua
-- ARGV[9]  with KEYS[2]: new generation
-- ARGV[10] with KEYS[2]: end of the watch member ("/id/user")
-- ARGV[11] with KEYS[2]: delay of the watch entry, ms
-- ARGV[12] with KEYS[2]: when a message without an expiry of its own expires, ms
--          after its send time
-- ARGV[13] with KEYS[2]: what an account is charged under, see fragments/hold.lua
-- ARGV[14] with KEYS[2]: what bounds the move, see fragments/hold.lua
-- ARGV[15] with KEYS[2]: with a charge, the attempt that the record has to name; "" for none
-- ARGV[16] with KEYS[2]: with a charge, where it has to stand, Unix ms
--
-- Returns  a decision, see fragments/decision.lua; of a message that would
--          outlive its expiry {PAST_EXPIRY, now, send time, 0, expiry}.
-- Cost     as reserve.lua.

if #KEYS == 1 and #ARGV ~= 8 or #KEYS ~= 1 and (#KEYS ~= 3 or #ARGV ~= 16) then
  return redis.error_reply('ERR move.lua: wrong number of keys or arguments')
end

local timeline, record, watch = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[2]
-- clock: now, Unix ms: the server's, unless ARGV[1] gives another.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end
local asked = tonumber(ARGV[3]) or now
local keep, reach = tonumber(ARGV[4]), tonumber(ARGV[5])
local policy, offsets = ARGV[6], ARGV[7]
local charge, bounds = ARGV[13] or '', ARGV[14] or ''
local PAST_EXPIRY = 8

-- record: what is known of one message. A HASH of short names, since there
-- are as many as messages; a field that would be empty is absent.
--
--   g  generation: the token of the only task that may deliver it
--   s  state: s being sent, d delivered, c cancelled, x dropped, f failed, u
--      uncertain; absent while the message is pending, as most are
--   t  send time, Unix ms
--   p  promised: the send time before the message was first postponed or sent
--      late, Unix ms, where it differs; never beside m, unless a program moved the
--      message that knew no p
--   r  requested time, Unix ms, where it differs from the send time
--   h  1 if a shift chose the send time
--   m  the send time before the last move, Unix ms
--   f  fingerprint of the request
--   x  expiry the caller set, Unix ms
--   k  category
--   c  content, opaque here; erased when the message ends, but for a dead letter,
--      which can be sent after all
--   n  deliveries tried
--   a  not before, Unix ms: when a retry is due
--   o  nonce of the delivery that holds or held it, or dropped it
--   u  when that delivery's lease ends, Unix ms
--   q  1 where a delivery before may have arrived, though nobody knows
--   b  since when it waits for an older late message of its user, Unix ms
--   e  when it ended, Unix ms; of a delivered one when its delivery began
--   w  why it ended so, is tried again or was postponed; of the last, "late" and
--      limit and window of the rule in the way, see fragments/policy.lua
--   i  the provider's id of the delivered message
--   y  what an account was charged under: account, attempt of the hold under which
--      it came to where it stands, attempts under which the id was given a place
--      before, latest first, other accounts' too; "." for none. Of every attempt
--      that it names the change was made.
--
-- A record has no expiry until the message ends: the watch list knows every
-- one that has not.
local PENDING, SENDING, DELIVERED = 'p', 's', 'd'
local CANCELLED, DROPPED, FAILED, UNCERTAIN = 'c', 'x', 'f', 'u'

-- state_of reads the state from the fields s and g; false where there is no
-- record.
local function state_of(s, g)
  return s or g and PENDING
end

-- promise_of reads the promised time from the fields p and m; nil where it is
-- the send time.
local function promise_of(p, m)
  return not m and tonumber(p) or nil
end

-- Whether a message in this state has given its id back.
local function id_is_free(state)
  return not state or state == CANCELLED or state == DROPPED or state == FAILED
end

-- names says whether the field y names an attempt: then the change that it was
-- held for was made, whatever has become of the message since.
local function names(y, attempt)
  return y and attempt ~= '' and string.find(y .. ' ', ' ' .. attempt .. ' ', 1, true) ~= nil
end

-- account_of reads the account from the field y; "" for none.
local function account_of(y)
  local account = y and string.match(y, '^%S+')
  return account ~= '.' and account or ''
end
-- policy: the rules and the time zone, from two strings of numbers.
--
--   policy   limit and window of each rule, in order: "1 60000 5 3600000 10 -3".
--            A window in ms slides; -1 to -5 is the natural minute, hour, day,
--            week, month.
--   offsets  first instant (Unix ms) and offset from UTC (ms) of each stretch in
--            which the zone's offset stays the same; the first offset stands for
--            all that is earlier. "" for UTC.
local rule_count, limits, windows = 0, {}, {}
for limit, window in string.gmatch(policy, '(%S+) (%S+)') do
  rule_count = rule_count + 1
  limits[rule_count], windows[rule_count] = tonumber(limit), tonumber(window)
end
local segment_count, segment_from, segment_offset = 0, {}, {}
for from, offset in string.gmatch(offsets, '(%S+) (%S+)') do
  segment_count = segment_count + 1
  segment_from[segment_count], segment_offset[segment_count] = tonumber(from), tonumber(offset)
end
if segment_count == 0 then segment_count, segment_offset[1] = 1, 0 end
segment_from[1] = -math.huge

local DAY = 86400000
local UNITS = {60000, 3600000} -- natural minute and hour

-- first_of_month gives the local start of the month of a local time, and of
-- the next one. The civil calendar from day numbers is Howard Hinnant's
-- "chrono-compatible low-level date algorithms": years start in March, so that
-- a leap day is a year's last.
local function first_of_month(l)
  local function days_to(year, month) -- of the first day; month 1 is March
    return year * 365 + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
      + math.floor((153 * (month - 1) + 2) / 5) - 719468
  end
  local days = math.floor(l / DAY) + 719468
  local era = math.floor(days / 146097)
  local of_era = days - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524)
    - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153) + 1
  year = year + era * 400
  local start = days_to(year, month)
  if month == 12 then year, month = year + 1, 0 end
  return start * DAY, days_to(year, month + 1) * DAY
end

-- local_start gives the local start of the natural day, week or month of a
-- local time, and of the next one.
local function local_start(kind, l)
  if kind == 3 then
    local start = l - l % DAY
    return start, start + DAY
  elseif kind == 4 then
    local start = l - (l - 4 * DAY) % (7 * DAY) -- 5 January 1970 was a Monday
    return start, start + 7 * DAY
  end
  return first_of_month(l)
end

-- instant gives the first instant at which local clocks show l or later.
local function instant(l)
  for s = 1, segment_count do
    local u = math.max(l - segment_offset[s], segment_from[s])
    if s == segment_count or u < segment_from[s + 1] then return u end
  end
end

-- period gives the natural period that t is in, half-open, Unix ms. A minute
-- or an hour ends where the clocks change; a day, week or month runs on to the
-- first instant of the next.
local function period(kind, t)
  local s = segment_count
  while s > 1 and segment_from[s] > t do s = s - 1 end
  local l = t + segment_offset[s]
  local unit = UNITS[kind]
  if unit then
    local from = l - l % unit - segment_offset[s]
    return math.max(from, segment_from[s]), math.min(from + unit, segment_from[s + 1] or math.huge)
  end
  local start, following = local_start(kind, l)
  local from, till = instant(start), instant(following)
  while t >= till do
    following = select(2, local_start(kind, following))
    from, till = till, instant(following)
  end
  return from, till
end
-- search: finds the free time next to a time, in either direction.
--
-- Placing t breaks a sliding rule "limit per window" exactly when `limit`
-- neighbours e_i ... e_j, in order, with e_j - e_i < window satisfy
-- e_j - window < t < e_i + window. Each such group forbids an open interval, a
-- full natural period forbids itself, and the search hops from the end of one
-- forbidden interval to the end of the next until no rule forbids. Downwards
-- it does the same on the mirrored axis u = -t.
local WORK = 100000 -- steps one search may take before it hands back where it stood

-- new_search(direction, from, excluded, near, taken) returns next_free(last) and
-- take_it(): next_free gives the first free time from the cursor on up to
-- `last`, or nil if there is none; then nil, and the rule that first forbade an
-- earlier one. Or nil and where it stands when the work is used up. take_it
-- counts the time just found as taken. Reservations in the set `excluded` do not
-- count. What violations() has read around `from` is not read again where it is
-- given as `near`. Upwards, the times in `taken`, ascending, do as if they were
-- reserved; not together with `near`.
local function new_search(direction, from, excluded, near, taken)
  local entries, count = {}, 0
  local next_taken = 1
  local tail, same, more = nil, 0, true -- the last score read, and how often
  local chunk, work = 16, 0
  local budget -- what work may be, once what lies around the start has been read
  local pointers = {}
  for r = 1, rule_count do pointers[r] = 1 end
  local u = direction * from

  local function period_of(kind, v)
    if direction > 0 then return period(kind, v) end
    local a, b = period(kind, -v)
    return 1 - b, 1 - a
  end

  local start = u
  for r = 1, rule_count do
    local window = windows[r]
    start = math.min(start, window > 0 and u - window + 1 or (period_of(-window, u)))
  end

  local known = -math.huge -- every entry below is there
  if near then
    count = #near.times
    for k = 1, count do
      entries[k] = direction > 0 and near.times[k] or -near.times[count + 1 - k]
    end
    start = direction > 0 and near.last + 1 or 1 - near.first
    known = start
  end

  local function take_up(bound) -- adds what is taken up to bound
    while taken and taken[next_taken] and taken[next_taken] <= bound do
      count = count + 1
      entries[count] = taken[next_taken]
      next_taken = next_taken + 1
    end
  end

  local function load(bound) -- reads on until every entry below bound is there
    if bound <= known then return end
    while more and not (tail and tail >= bound) do
      local at = direction * (tail or start)
      local read
      if direction > 0 then
        read = redis.call('ZRANGE', timeline, at, '+inf', 'BYSCORE', 'LIMIT', same, chunk, 'WITHSCORES')
      else
        read = redis.call('ZRANGE', timeline, at, '-inf', 'BYSCORE', 'REV', 'LIMIT', same, chunk, 'WITHSCORES')
      end
      more = #read == 2 * chunk
      for k = 2, #read, 2 do
        local e = direction * read[k]
        if e == tail then same = same + 1 else tail, same = e, 1 end
        take_up(e)
        if not (excluded and excluded[read[k - 1]]) then
          count = count + 1
          entries[count] = e
        end
      end
      if not more then take_up(math.huge) end
      work = work + 4 * chunk
      chunk = math.min(2 * chunk, 512)
    end
  end

  local function forbidden_until(r) -- the end of what rule r forbids at u
    local limit, window, i = limits[r], windows[r], pointers[r]
    if window < 0 then
      local from_u, till = period_of(-window, u)
      load(till)
      while i <= count and entries[i] < from_u do i = i + 1 end
      work = work + i - pointers[r] + 1
      pointers[r] = i
      local last = entries[i + limit - 1]
      return last and last < till and till
    end
    load(u + window)
    while i <= count and entries[i] <= u - window do i = i + 1 end
    work = work + i - pointers[r] + 1
    pointers[r] = i
    local till, j = false, i + limit - 1
    while j <= count and entries[j] < u + window do
      if entries[j] - entries[i] < window then till = entries[i] + window end
      i, j = i + 1, j + 1
      work = work + 1
    end
    return till
  end

  local function next_free(last)
    local last_u = direction * last
    local held = 0 -- rules in a row that let u pass
    local r, in_the_way = 1, nil
    while held < rule_count do
      if u > last_u then return nil, nil, in_the_way end
      -- Never where it began: a search that goes on there would not end.
      if budget and work > budget and u ~= direction * from then return nil, direction * u end
      local till = forbidden_until(r)
      budget = budget or work + WORK
      if till then
        u, held, in_the_way = till, 0, in_the_way or r
      else
        held = held + 1
        r = r % rule_count + 1
      end
    end
    return direction * u, nil, in_the_way
  end

  local function take_it()
    local i = count
    while i >= 1 and entries[i] > u do
      entries[i + 1] = entries[i]
      i = i - 1
    end
    entries[i + 1] = u
    count = count + 1
  end

  return next_free, take_it
end
-- decision: the reply of reserve, check and move, an array of
--
--   status, now, send time, requested time (0: the same)
--   and, if the status is ALLOWED: flags (SHIFTED + REPLAYED), moved from (0: not),
--   the id of the notice of an alert that the change has raised, if any;
--   if it is SEND_LIMIT: next free time, where to search on for it, previous free
--   time, where to search on for it (0: none), then an array a violated rule:
--   its number in the policy from 1, conflicts in all, from and until of its
--   period (0 of a sliding rule), then id and send time of the first conflicts.
--   SEARCH_ON has only status, now and where to search on. A change that its hold
--   does not cover is HOLD_OVER, OUTSIDE_HOLD or CHANGED, see fragments/hold.lua.
-- status: the first element of a decision, and the flags of an accepted one.
local ALLOWED, SEND_LIMIT, ID_REUSED, TOO_LATE = 0, 1, 2, 3
local NOT_FOUND, IN_PAST, TOO_FAR_AHEAD, SEARCH_ON = 4, 5, 6, 7
local SHIFTED, REPLAYED = 1, 2
local GRACE = 5000 -- ms in the past that are taken as now
local MOST_CONFLICTS = 10

-- violations lists the rules that placing t would break, as the reply has
-- them, and returns what it read for that around t: the times, ascending, and
-- the first and last millisecond that it looked at. The reservation `self` does
-- not count.
local function violations(t, self)
  local first, last = t, t
  for r = 1, rule_count do
    local from, till = t - windows[r] + 1, t + windows[r]
    if windows[r] < 0 then from, till = period(-windows[r], t) end
    first, last = math.min(first, from), math.max(last, till - 1)
  end
  local near = redis.call('ZRANGE', timeline, first, last, 'BYSCORE', 'WITHSCORES')
  local ids, times, count = {}, {}, 0
  for k = 1, #near, 2 do
    if near[k] ~= self then
      count = count + 1
      ids[count], times[count] = near[k], tonumber(near[k + 1])
    end
  end

  local found = {}
  for r = 1, rule_count do
    local limit, window = limits[r], windows[r]
    local total, conflicts = 0, {}
    local from, till = 0, 0
    local function add(k)
      total = total + 1
      if total <= MOST_CONFLICTS then
        conflicts[#conflicts + 1] = ids[k]
        conflicts[#conflicts + 1] = times[k]
      end
    end
    if window < 0 then
      from, till = period(-window, t)
      local i = 1
      while i <= count and times[i] < from do i = i + 1 end
      if times[i + limit - 1] and times[i + limit - 1] < till then
        while i <= count and times[i] < till do
          add(i)
          i = i + 1
        end
      end
    else
      local added = 0 -- groups overlap: the last entry that one has added
      for i = 1, count - limit + 1 do
        local j = i + limit - 1
        if times[j] - times[i] < window and times[j] < t + window and times[i] > t - window then
          for k = math.max(i, added + 1), j do add(k) end
          added = j
        end
      end
    end
    if total > 0 then
      local violation = {r, total, from, till}
      for k = 1, #conflicts do violation[4 + k] = conflicts[k] end
      found[#found + 1] = violation
    end
  end
  return found, {times = times, first = first, last = last}
end

-- refusal completes the reply for a time that breaks rules.
local function refusal(t, requested, broken, near, self)
  local excluded = self and {[self] = true}
  local next_free, next_resume = new_search(1, t, excluded, near)(now + reach)
  local previous, previous_resume
  if t > now then previous, previous_resume = new_search(-1, t, excluded, near)(now) end
  local reply = {SEND_LIMIT, now, t, requested or 0,
    next_free or 0, next_resume or 0, previous or 0, previous_resume or 0}
  for k = 1, #broken do reply[8 + k] = broken[k] end
  return reply
end

-- out_of_reach answers for a time that is past or too far ahead, or gives nil.
local function out_of_reach(t)
  if t < now - GRACE then return {IN_PAST, now, t, 0} end
  if t > now + reach then return {TOO_FAR_AHEAD, now, t, 0} end
end
-- trim: forgets the places up to a time, but for those of messages that have
-- not ended: a message is found by its place as long as it is to be sent. The
-- record of another message of the user has a key that differs in the id alone.
local AT_ONCE = 64 -- places looked at; the rest has time
local function trim(oldest)
  if not record then return redis.call('ZREMRANGEBYSCORE', timeline, '-inf', oldest) end
  local old = redis.call('ZRANGE', timeline, '-inf', oldest, 'BYSCORE', 'LIMIT', 0, AT_ONCE)
  local records, ended = string.sub(record, 1, #record - #id), {}
  for k = 1, #old do
    local r = redis.call('HMGET', records .. string.gsub(old[k], ':', '/'), 's', 'g')
    if not r[2] or r[1] and r[1] ~= 's' then ended[#ended + 1] = old[k] end
  end
  if #ended > 0 then redis.call('ZREM', timeline, unpack(ended)) end
end
-- outlive: lets the timeline expire no earlier than its place at `at` can be
-- forgotten and its message has expired, and trims what is forgotten by now.
local function outlive(at, expiry)
  local expires = math.max(at + keep, expiry or 0)
  if redis.call('PEXPIRETIME', timeline) < expires then
    redis.call('PEXPIREAT', timeline, expires)
  end
  trim(now - keep - 1)
end
-- hold: what binds a change to the charge that an account bears for it.
--
--   charge   "account attempt", what the record's field y says once the change is
--            made; "" without a hold
--   bounds   until when the change may be made, before when its place must be and
--            where a shift searches from, three words: Unix ms, "." for none. ""
--            for none of them.
local HOLD_OVER, OUTSIDE_HOLD, CHANGED = 10, 11, 12
local not_after, place_before
for a, b in string.gmatch(bounds, '(%S+) (%S+) %S+') do
  not_after, place_before = tonumber(a), tonumber(b)
end

-- outside answers for a change that the hold does not cover, or gives nil.
local function outside(at)
  if now > (not_after or now) then return {HOLD_OVER, now, at, 0} end
  if at >= (place_before or math.huge) then return {OUTSIDE_HOLD, now, at, 0} end
end

-- attempt_in reads the present attempt from the field y; "" for none.
local function attempt_in(y)
  local attempt = y and string.match(y, '^%S+ (%S+)')
  return attempt ~= '.' and attempt or ''
end

-- charged_anew is the field y of a message that takes the id of one that ended,
-- whose attempts, in its field y, `former`, it keeps.
local MOST_FORMER = 8
local function charged_anew(former)
  local kept, y = 0, charge ~= '' and charge or '. .'
  for word in string.gmatch(former, ' (%S+)') do -- after the account
    if word ~= '.' and kept < MOST_FORMER then
      y, kept = y .. ' ' .. word, kept + 1
    end
  end
  return y
end

-- charged_on is the field y of a message that is moved or cancelled, from what it
-- was before. Its attempt was settled by the hold of this change; the older ones
-- may be another account's.
local function charged_on(before)
  local y, former = charge, string.match(before or '', '^%S+ %S+(.*)$') or ''
  return y .. former
end

-- is_as says whether a reservation at `stands` with the field y is the one that
-- the hold was made for. Without a hold it is one that nobody was charged for:
-- a charge changes together with what it is for, or not at all.
local function is_as(y, stands, former, from)
  if charge == '' then return attempt_in(y) == '' end
  return attempt_in(y) == former and stands == tonumber(from)
end
-- user_alert: alerts of a user's daily rules, once a place has been taken.
--
-- Daily are the natural day and a sliding one of 24 hours. The fullest of them,
-- in percent, counts, and the day is the natural one of the place's time.
-- alert: raises the alert of a quota, once a subject, day and threshold.
-- notice: puts a notice into the outbox of what is to be announced.
--
-- prefix is "sl:{p0042}:" of the partition whose keys the script has; a notice's
-- id is never used for another. The rest are names and values of its fields.
local function put_notice(prefix, id, ...)
  local notice = prefix .. 'n:' .. id
  if redis.call('EXISTS', notice) == 1 then return end
  redis.call('HSET', notice, ...)
  redis.call('ZADD', prefix .. 'notices', now, id)
end
local FLAG_KEPT = 108000000 -- ms that a flag outlives its day: 30 hours

-- whole spells a whole number with all its digits, which ".." may not.
local function whole(n) return string.format('%.0f', tonumber(n)) end

-- raise alerts where `used` of `limit` has reached a threshold higher than any
-- that was alerted that day, and returns the id of the notice and the threshold;
-- nothing where it has not. Of several thresholds reached at once it is the
-- highest: the flag that is kept of it stands for the lower ones, too.
--
--   prefix      "sl:{p0042}:" of the subject's partition
--   kind        of the notice: "account_quota", "user_quota"; nil for no notice,
--               where the caller tells of it in another way
--   letter      of the subject in the flag's key: "a" an account, "u" a user
--   subject     its name
--   day_from    start and end of the day in the subject's zone, Unix ms. A day
--   day_until   that is over alerts nobody.
--   thresholds  ascending, percent
--   extra       what else there is to say, JSON
--
-- The fields of the notice: k kind, s subject, d start of the day, h threshold,
-- u used, l limit, x extra.
local function raise(prefix, kind, letter, subject, day_from, day_until, used, limit, thresholds, extra)
  local crossed
  for k = 1, #thresholds do
    if used * 100 >= thresholds[k] * limit then crossed = thresholds[k] end
  end
  if not crossed or now >= tonumber(day_until) then return end
  local flag = prefix .. 'alert:' .. letter .. ':' .. subject .. ':' .. whole(day_from)
  if tonumber(redis.call('GET', flag) or 0) >= crossed then return end
  redis.call('SET', flag, crossed, 'PXAT', day_until + FLAG_KEPT)
  if not kind then return nil, crossed end
  local id = kind .. '/' .. whole(day_from) .. '/' .. whole(crossed) .. '/' .. subject
  put_notice(prefix, id,
    'k', kind, 's', subject, 'd', day_from, 'h', crossed, 'u', used, 'l', limit, 'x', extra)
  return id, crossed
end
local SLIDING_DAY = 86400000

-- fullest_window counts the places in the fullest sliding window that contains
-- at, as far as none is forgotten; 0 where even all that are near are fewer than
-- `least`.
local function fullest_window(window, at, least)
  local first, last = math.max(at - window + 1, now - keep), at + window - 1
  if redis.call('ZCOUNT', timeline, first, last) < least then return 0 end
  local near = redis.call('ZRANGE', timeline, first, last, 'BYSCORE', 'WITHSCORES')
  local most, i = 0, 2
  for j = 2, #near, 2 do
    while near[j] - near[i] >= window do i = i + 2 end
    -- From near[i] to near[j], which are less than a window apart: one that
    -- starts late enough and ends early enough has at in it, too.
    if near[i] - at <= 0 and near[j] - at >= 0 then most = math.max(most, (j - i) / 2 + 1) end
  end
  return most
end

-- alert_user alerts where the place at `at` has brought a daily rule to a
-- threshold, and returns the id of the notice, if there is one to deliver.
--
--   alerts   the policy's name, its time zone, 1 if its users are gathered for
--            somebody else to be told of, else 0, and the thresholds in percent:
--            "default UTC 0 80 100". "" for no alerts.
local function alert_user(alerts, at)
  if alerts == '' then return end
  local prefix = string.match(timeline, '^[^}]*}:')
  local user = string.sub(timeline, #prefix + 3)
  local words, thresholds = {}, {}
  for word in string.gmatch(alerts, '%S+') do words[#words + 1] = word end
  for k = 4, #words do thresholds[k - 3] = tonumber(words[k]) end
  local gathered = words[3] == '1'
  local contact = redis.call('HEXISTS', prefix .. 'o:' .. user, 'contact') == 1
  if not gathered and not contact then return end

  local day_from, day_until = period(3, at)
  local used, limit, rule = 0, 1, nil
  for r = 1, rule_count do
    local most, name = 0, nil
    if windows[r] == -3 then
      most, name = redis.call('ZCOUNT', timeline, day_from, day_until - 1), '/calendar_day'
    elseif windows[r] == SLIDING_DAY then
      most, name = fullest_window(SLIDING_DAY, at, limits[r] * thresholds[1] / 100), '/day'
    end
    if most / limits[r] > used / limit then used, limit, rule = most, limits[r], whole(limits[r]) .. name end
  end
  if not rule then return end

  local extra = cjson.encode({policy = words[1], zone = words[2], rule = rule})
  local id, crossed = raise(prefix, contact and 'user_quota' or nil, 'u', user, day_from, day_until,
    used, limit, thresholds, extra)
  if crossed and gathered then
    redis.call('ZADD', prefix .. 'gathered', now, whole(day_from) .. '/' .. whole(crossed) .. '/' ..
      whole(used) .. '/' .. whole(limit) .. '/' .. words[1] .. '/' .. user)
  end
  return id
end

local generation = ARGV[9]
local stands, first_requested, former_generation, expiry, charged
if record then
  local r = redis.call('HMGET', record, 's', 'g', 't', 'r', 'm', 'x', 'p', 'y')
  local state = state_of(r[1], r[2])
  stands = tonumber(r[3])
  -- The same call, repeated by a client that got no answer.
  if r[2] == generation or names(r[8], attempt_in(charge)) then
    local graced = ARGV[3] ~= '' and asked ~= stands
    return {ALLOWED, now, stands, graced and asked or 0, 0, tonumber(r[5])}
  end
  if id_is_free(state) then return {NOT_FOUND, now, 0, 0} end
  if state ~= PENDING then return {TOO_LATE, now, stands, 0} end
  if not is_as(r[8], stands, ARGV[15], ARGV[16]) then return {CHANGED, now, stands, 0} end
  former_generation, first_requested, expiry, charged = r[2], r[4] or r[7] or r[3], tonumber(r[6]), r[8]
else
  stands = tonumber(redis.call('ZSCORE', timeline, id) or -1)
  if stands < now - keep then return {NOT_FOUND, now, 0, 0} end
end

local at, requested = asked, nil
if asked ~= stands then
  local answer = out_of_reach(asked)
  if answer then return answer end
  if asked < now then at, requested = now, asked end
  if expiry and at >= expiry then return {PAST_EXPIRY, now, at, 0, expiry} end
end
if at == stands then return {ALLOWED, now, at, requested or 0, 0, stands} end

local broken, near = violations(at, id)
if #broken > 0 then return refusal(at, requested, broken, near, id) end
local answer = outside(at)
if answer then return answer end

redis.call('ZADD', timeline, at, id)
outlive(at, record and (expiry or at + ARGV[12]))
if record then
  redis.call('HSET', record, 'g', generation, 't', at, 'm', stands, 'r', first_requested)
  redis.call('HDEL', record, 'a', 'p', 'w', 'b')
  if charge ~= '' then redis.call('HSET', record, 'y', charged_on(charged)) end
  redis.call('ZREM', watch, former_generation .. ARGV[10])
  redis.call('ZADD', watch, now + ARGV[11], generation .. ARGV[10])
end
return {ALLOWED, now, at, requested or 0, 0, stands, alert_user(ARGV[8], at)}
