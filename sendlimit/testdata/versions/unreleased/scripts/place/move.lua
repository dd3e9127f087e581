-- move.lua: gives a reservation another place, or says why not.
--
-- The reservation's own place does not count against the new one, and is kept
-- when the new one is refused. A message can be moved until it is being sent.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[4]  watch list of the partition (ZSET: watch member -> when to look, Unix ms); with KEYS[3]
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  new send time, Unix ms; "" for now
-- ARGV[4]  largest window of the rules and the grace, ms: what is older is forgotten
-- ARGV[5]  reach of schedules, ms after now
-- ARGV[6]  the overall rules, see fragments/policy.lua
-- ARGV[7]  the time zone's offsets, see fragments/zone.lua
-- ARGV[8]  what to alert of, see fragments/user_alert.lua
-- ARGV[9]  the rules of categories, see fragments/policy.lua
-- ARGV[10] the quiet hours, see fragments/quiet.lua
-- ARGV[11] the settings that Go used, see fragments/settings.lua
-- ARGV[12] with KEYS[3]: new generation
-- ARGV[13] with KEYS[3]: end of the watch member ("/id/user")
-- ARGV[14] with KEYS[3]: delay of the watch entry, ms
-- ARGV[15] with KEYS[3]: when a message without an expiry of its own expires, ms
--          after its send time
-- ARGV[16] with KEYS[3]: what an account is charged under, see fragments/hold.lua
-- ARGV[17] with KEYS[3]: what bounds the move, see fragments/hold.lua
-- ARGV[18] with KEYS[3]: with a charge, the attempt that the record has to name; "" for none
-- ARGV[19] with KEYS[3]: with a charge, where it has to stand, Unix ms
--
-- Returns  a decision, see fragments/decision.lua; of a message that would
--          outlive its expiry {PAST_EXPIRY, now, send time, 0, expiry}; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     as reserve.lua.

if #KEYS == 2 and #ARGV ~= 11 or #KEYS ~= 2 and (#KEYS ~= 4 or #ARGV ~= 19) then
  return redis.error_reply('ERR move.lua: wrong number of keys or arguments')
end

local timeline, record, watch = KEYS[1], KEYS[3], KEYS[4]
local id = ARGV[2]
-- clock: now, Unix ms: the server's, unless ARGV[1] gives another.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end
local asked = tonumber(ARGV[3]) or now
local keep, reach = tonumber(ARGV[4]), tonumber(ARGV[5])
local offsets, quiet, settings = ARGV[7], ARGV[10], ARGV[11]
local charge, bounds = ARGV[16] or '', ARGV[17] or ''
local PAST_EXPIRY = 8

-- status: the first element of a decision, and the flags of an accepted one.
local ALLOWED, SEND_LIMIT, ID_REUSED, TOO_LATE = 0, 1, 2, 3
local NOT_FOUND, IN_PAST, TOO_FAR_AHEAD, SEARCH_ON = 4, 5, 6, 7
local SETTINGS_CHANGED, BLOCKED, QUIET_HOURS = 13, 14, 15
local SHIFTED, REPLAYED = 1, 2
-- record: what is known of one message. A HASH of short names, since there
-- are as many as messages; a field that would be empty is absent.
--
--   g  generation: the token of the only task that may deliver it
--   s  state: s being sent, d delivered, c cancelled, x dropped, f failed, u
--      uncertain; absent while the message is pending, as most are
--   t  send time, Unix ms
--   p  promised: the send time before the message was first postponed or sent
--      late, Unix ms, where it differs; never beside m
--   r  requested time, Unix ms, where it differs from the send time
--   h  1 if a shift chose the send time
--   m  the send time before the last move, Unix ms
--   f  fingerprint of the request
--   x  expiry the caller set, Unix ms
--   k  category; alone, of an uncertain dead letter that was purged: its place counts
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
--   z  1 where its place is with those that do not count ("x:" instead of "u:" in
--      the timeline's key)
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
-- settings: whether what is set for the user is what Go went by.
--
--   settings  version of the settings that Go used, the field v of their HASH; ""
--             for a user for whom nothing is set. " b" follows where the user is
--             blocked. "-" alone where users' settings are not looked at.
--
-- Gives blocked.
local settings_version = string.match(settings, '^%S*')
local blocked = string.sub(settings, -2) == ' b'

-- settings_changed gives the answer where the settings under a key are others
-- than Go used: {SETTINGS_CHANGED, now, field, value, ...}; else nil.
local function settings_changed(key)
  if settings_version == '-' or (redis.call('HGET', key, 'v') or '') == settings_version then return nil end
  local answer = {SETTINGS_CHANGED, now}
  local fields = redis.call('HGETALL', key)
  for k = 1, #fields do answer[2 + k] = fields[k] end
  return answer
end
-- policy: the rules that a message is judged by.
--
--   words       limit and window of each rule, in order: "1 60000 5 3600000 10 -3".
--               A window in ms slides; -1 to -5 is the natural minute, hour, day,
--               week, month.
--   scope       whose they are: "" for everybody's; else how many of them, the
--               first, are, and the category that the others are for, which count
--               its messages alone: "3 marketing". What follows it begins the keys of
--               records that are looked up after those beside the timeline: in a dry
--               run, the real ones. "!" is a category that is exempt.
--   categories  the rules that categories have beside the overall ones, "" for
--               none: "marketing=2 -3,otp=!,codes=!!". One that has "!" is exempt,
--               and with "!!" does not count for the others either.
-- zone: what local clocks show, from the offsets of time zones.
--
--   offsets  first instant (Unix ms) and offset from UTC (ms) of each stretch in
--            which a zone's offset stays the same; the first offset stands for
--            all that is earlier. "" for UTC. Natural periods are of this zone.
local DAY = 86400000
local WEEK = 7 * DAY
local MONDAY = 4 * DAY -- 5 January 1970
local UNITS = {60000, 3600000} -- natural minute and hour

-- zone_of reads offsets, "" for UTC.
local function zone_of(text)
  local z = {count = 0, from = {}, offset = {}}
  for from, offset in string.gmatch(text, '(%S+) (%S+)') do
    z.count = z.count + 1
    z.from[z.count], z.offset[z.count] = tonumber(from), tonumber(offset)
  end
  if z.count == 0 then z.count, z.offset[1] = 1, 0 end
  z.from[1] = -math.huge
  return z
end
local zone = zone_of(offsets)

-- stretch_at gives the number of the stretch of a zone that t is in.
local function stretch_at(z, t)
  local s = z.count
  while s > 1 and z.from[s] > t do s = s - 1 end
  return s
end

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
    local start = l - (l - MONDAY) % WEEK
    return start, start + WEEK
  end
  return first_of_month(l)
end

-- instant gives the first instant at which local clocks show l or later.
local function instant(l)
  for s = 1, zone.count do
    local u = math.max(l - zone.offset[s], zone.from[s])
    if s == zone.count or u < zone.from[s + 1] then return u end
  end
end

-- period gives the natural period that t is in, half-open, Unix ms. A minute
-- or an hour ends where the clocks change; a day, week or month runs on to the
-- first instant of the next.
local function period(kind, t)
  local s = stretch_at(zone, t)
  local l = t + zone.offset[s]
  local unit = UNITS[kind]
  if unit then
    local from = l - l % unit - zone.offset[s]
    return math.max(from, zone.from[s]), math.min(from + unit, zone.from[s + 1] or math.huge)
  end
  local start, following = local_start(kind, l)
  local from, till = instant(start), instant(following)
  while t >= till do
    following = select(2, local_start(kind, following))
    from, till = till, instant(following)
  end
  return from, till
end

local function add_rules(rules, words)
  for limit, window in string.gmatch(words, '(%S+) (%S+)') do
    rules.count = rules.count + 1
    rules.limits[rules.count], rules.windows[rules.count] = tonumber(limit), tonumber(window)
  end
end

-- rules_of gives rules, which have
--
--   count, limits, windows   how many they are, and what they say
--   overall                  how many, the first, count messages of any category
--   category                 whose messages the others count; nil where none does
--   copied                   what begins the keys of other records, see scope
--   exempt                   true if nothing is judged, quiet hours not either
--   uncounted                true if its messages don't count for the others
local function rules_of(words, scope)
  local rules = {count = 0, limits = {}, windows = {}}
  if string.sub(scope, 1, 1) == '!' then
    rules.overall, rules.exempt, rules.uncounted = 0, true, scope == '!!'
    return rules
  end
  add_rules(rules, words)
  local overall, category, copied = string.match(scope, '^(%d+) (%S+) ?(.*)$')
  rules.overall = tonumber(overall) or rules.count
  if rules.overall < rules.count then rules.category = category end
  if copied ~= '' then rules.copied = copied end
  return rules
end

-- rules_in gives the rules that judge a category, false or "" for none: the
-- overall ones, and those it has among categories.
local function rules_in(words, categories, category)
  local own
  for name, entry in string.gmatch(categories, '([^=,]+)=([^,]+)') do
    if name == category then own = entry end
  end
  if own and string.sub(own, 1, 1) == '!' then return rules_of('', own) end
  local rules = rules_of(words, '')
  if own then
    rules.category = category
    add_rules(rules, own)
  end
  return rules
end
-- search: finds the free time next to a time, in either direction.
--
-- Placing t breaks a sliding rule "limit per window" exactly when `limit`
-- neighbours e_i ... e_j, in order, with e_j - e_i < window satisfy
-- e_j - window < t < e_i + window. Each such group forbids an open interval, a
-- full natural period forbids itself, quiet hours forbid themselves, and the
-- search hops from the end of one forbidden interval to the end of the next until
-- nothing forbids. Downwards it does the same on the mirrored axis u = -t.
-- quiet: hours in which nothing is to be sent.
--
--   quiet  "" for none; else the offsets of their time zone, see
--          fragments/zone.lua, then "|", then begin and end of each stretch that is
--          quiet, ms of the local week, which begins on Monday, ascending:
--          "|0 28800000 79200000 86400000". They are apart from each other, and
--          never the whole week.
--
-- A moment is quiet exactly when the clock on the wall then shows a quiet time:
-- what clocks skip is not there, and what they show twice is quiet twice.
local quiet_from, quiet_till, quiet_zone = {}, {}, nil
if quiet ~= '' then
  local zone_offsets, hours = string.match(quiet, '^(.*)|(.*)$')
  quiet_zone = zone_of(zone_offsets)
  for from, till in string.gmatch(hours, '(%S+) (%S+)') do
    quiet_from[#quiet_from + 1], quiet_till[#quiet_till + 1] = tonumber(from), tonumber(till)
  end
end

-- past_quiet gives the first moment that is not quiet from t on, in direction 1
-- upwards, in -1 downwards; false where t itself is not quiet.
local function past_quiet(direction, t)
  if not quiet_zone then return false end
  local hopped = false
  while true do
    local s = stretch_at(quiet_zone, t)
    local l = (t + quiet_zone.offset[s] - MONDAY) % WEEK
    local k, beyond = 1, #quiet_till + 1 -- the first that ends after l is from k on, up to beyond
    while k < beyond do
      local middle = math.floor((k + beyond) / 2)
      if quiet_till[middle] <= l then k = middle + 1 else beyond = middle end
    end
    if not quiet_from[k] or quiet_from[k] > l then return hopped end
    -- To where this stretch ends, or the clock is changed before.
    if direction > 0 then
      t = math.min(t + quiet_till[k] - l, quiet_zone.from[s + 1] or math.huge)
    else
      t = math.max(t - l + quiet_from[k], quiet_zone.from[s]) - 1
    end
    hopped = t
  end
end

-- is_quiet says whether t is in quiet hours that rules, see
-- fragments/policy.lua, have to obey.
local function is_quiet(rules, t)
  return not rules.exempt and past_quiet(1, t) ~= false
end
-- category: which category a message of the user is of, by its record.
--
-- Needs timeline. What was looked up is remembered within the call. Gives
-- records_prefix, which begins the keys of the user's records.
local of_message = {}
local records_prefix = string.gsub(timeline, '^([^}]*}:)[^:]+:', '%1m:', 1)
records_prefix = records_prefix .. ':'

-- category_of gives a message's category, false for none. Where it has no record
-- there, it is looked for among those whose keys begin with other, if given.
local function category_of(message, other)
  local category = of_message[message]
  if category ~= nil then return category end
  local suffix = string.gsub(message, ':', '/')
  local r = redis.call('HMGET', records_prefix .. suffix, 'g', 'k')
  if not r[1] and other then r = redis.call('HMGET', other .. suffix, 'g', 'k') end
  category = r[2]
  of_message[message] = category
  return category
end
local WORK = 100000 -- steps the searches of one call may take before one hands back where it stood
local LOOK_UP = 16 -- as many steps as looking up one message's category takes
local spent = 0 -- steps that searches have taken, beside reading what lies around their starts

-- new_search(rules, direction, from, excluded, near, taken) returns
-- next_free(last) and take_it(): next_free gives the first free time from the
-- cursor on up to `last`, or nil if there is none; then nil, and what first
-- forbade an earlier one: the number of the rule, or 0 for quiet hours. Or nil
-- and where it stands when the work is used up. take_it counts the time just
-- found as taken. What may be at a time is said by `rules`, see
-- fragments/policy.lua, and by quiet hours. Reservations in the set `excluded` do
-- not count. What violations() has read around `from` is not read again where it
-- is given as `near`. Upwards, the times in `taken`, ascending, do as if they were
-- reserved by the messages in its `ids`, without these in the category of the rules;
-- not together with `near`.
local function new_search(rules, direction, from, excluded, near, taken)
  local limits, windows, overall = rules.limits, rules.windows, rules.overall
  local entries, ids, mine, count = {}, {}, {}, 0 -- mine: whether it is of the rules' category, once known
  local next_taken = 1
  local tail, same, more = nil, 0, true -- the last score read, and how often
  local chunk, work = 16, 0
  local charged -- what of work is in spent or does not belong there, once the start has been read
  local pointers = {}
  for r = 1, rules.count do pointers[r] = 1 end
  local u = direction * from

  local function period_of(kind, v)
    if direction > 0 then return period(kind, v) end
    local a, b = period(kind, -v)
    return 1 - b, 1 - a
  end

  local start = u
  for r = 1, rules.count do
    local window = windows[r]
    start = math.min(start, window > 0 and u - window + 1 or (period_of(-window, u)))
  end

  local known = -math.huge -- every entry below is there
  if near then
    count = #near.times
    for k = 1, count do
      local at = direction > 0 and k or count + 1 - k
      entries[k], ids[k] = direction * near.times[at], near.ids[at]
    end
    start = direction > 0 and near.last + 1 or 1 - near.first
    known = start
  end

  local function take_up(bound) -- adds what is taken up to bound
    while taken and taken[next_taken] and taken[next_taken] <= bound do
      count = count + 1
      entries[count] = taken[next_taken]
      if taken.ids then ids[count] = taken.ids[next_taken] else mine[count] = true end
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
          entries[count], ids[count] = e, read[k - 1]
        end
      end
      if not more then take_up(math.huge) end
      work = work + 4 * chunk
      chunk = math.min(2 * chunk, 512)
    end
  end

  local function is_mine(k)
    if mine[k] == nil then
      work = work + LOOK_UP
      mine[k] = category_of(ids[k], rules.copied) == rules.category
    end
    return mine[k]
  end

  -- in_category gives the entries from number i on, below bound, that a category's
  -- rule counts; nil where those of any category are fewer than its limit.
  local function in_category(i, bound, limit)
    local last = entries[i + limit - 1]
    if not last or last >= bound then return nil end
    local times = {}
    while i <= count and entries[i] < bound do
      if is_mine(i) then times[#times + 1] = entries[i] end
      i = i + 1
      work = work + 1
    end
    return times
  end

  local function forbidden_until(r) -- the end of what rule r forbids at u
    local limit, window, i = limits[r], windows[r], pointers[r]
    if window < 0 then
      local from_u, till = period_of(-window, u)
      load(till)
      while i <= count and entries[i] < from_u do i = i + 1 end
      work = work + i - pointers[r] + 1
      pointers[r] = i
      if r > overall then
        local times = in_category(i, till, limit)
        return times and times[limit] and till
      end
      local last = entries[i + limit - 1]
      return last and last < till and till
    end
    load(u + window)
    while i <= count and entries[i] <= u - window do i = i + 1 end
    work = work + i - pointers[r] + 1
    pointers[r] = i
    local times, n = entries, count
    if r > overall then
      times = in_category(i, u + window, limit)
      if not times then return false end
      i, n = 1, #times
    end
    local till, j = false, i + limit - 1
    while j <= n and times[j] < u + window do
      if times[j] - times[i] < window then till = times[i] + window end
      i, j = i + 1, j + 1
      work = work + 1
    end
    return till
  end

  local function quiet_until() -- the end of the quiet hours at u
    work = work + 1
    local at = past_quiet(direction, direction * u)
    return at and direction * at
  end

  local first = (quiet == '' or rules.exempt) and 1 or 0 -- 0 stands for quiet hours
  local function next_free(last)
    local last_u = direction * last
    local held = first -- all that in a row let u pass
    local r, in_the_way, handed_back = first, nil, nil
    local most = charged and charged + WORK - spent -- what work may come to
    while u <= last_u and held <= rules.count do
      -- Never where it began: a search that goes on there would not end.
      if most and work > most and u ~= direction * from then
        handed_back = direction * u
        break
      end
      local till
      if r == 0 then till = quiet_until() else till = forbidden_until(r) end
      if r > 0 and not most then charged, most = work, work + WORK - spent end
      if till then
        u, held, in_the_way = till, first, in_the_way or r
      else
        held = held + 1
        r = r < rules.count and r + 1 or first
      end
    end
    if charged then spent, charged = spent + work - charged, work end
    if handed_back then return nil, handed_back end
    if u > last_u then return nil, nil, in_the_way end
    return direction * u, nil, in_the_way
  end

  local function take_it()
    local i = count
    while i >= 1 and entries[i] > u do
      entries[i + 1], ids[i + 1], mine[i + 1] = entries[i], ids[i], mine[i]
      i = i - 1
    end
    entries[i + 1], ids[i + 1], mine[i + 1] = u, nil, true
    count = count + 1
  end

  return next_free, take_it
end
-- decision: the reply of reserve, check and move, an array of
--
--   status, now, send time, requested time (0: the same)
--   and, if the status is ALLOWED: flags (SHIFTED + REPLAYED), moved from (0: not),
--   the id of the notice of an alert that the change has raised, if any;
--   if it is SEND_LIMIT or QUIET_HOURS: next free time, where to search on for it,
--   previous free time, where to search on for it (0: none), the category that some
--   of the rules are for or "", then an array a violated rule: its number among the
--   rules from 1, conflicts in all, from and until of its period (0 of a sliding
--   rule), then id and send time of the first conflicts.
--   BLOCKED has no more than the first four.
--   SEARCH_ON has only status, now and where to search on. A change that its hold
--   does not cover is HOLD_OVER, OUTSIDE_HOLD or CHANGED, see fragments/hold.lua.
--   SETTINGS_CHANGED is another answer, see fragments/settings.lua.
local GRACE = 5000 -- ms in the past that are taken as now
local MOST_CONFLICTS = 10

-- violations lists the rules, see fragments/policy.lua, that placing t would
-- break, as the reply has them. Its field quiet says whether t is in quiet hours,
-- free that nothing forbids it. Then it returns what it read for that around t:
-- the ids and times, ascending, and the first and last millisecond that it looked
-- at. The reservation `self` does not count.
local function violations(rules, t, self)
  local first, last = t, t
  for r = 1, rules.count do
    local window = rules.windows[r]
    local from, till = t - window + 1, t + window
    if window < 0 then from, till = period(-window, t) end
    first, last = math.min(first, from), math.max(last, till - 1)
  end
  local ids, times, count = {}, {}, 0
  if rules.count > 0 then
    local near = redis.call('ZRANGE', timeline, first, last, 'BYSCORE', 'WITHSCORES')
    for k = 1, #near, 2 do
      if near[k] ~= self then
        count = count + 1
        ids[count], times[count] = near[k], tonumber(near[k + 1])
      end
    end
  end

  -- counted gives the numbers of the entries that rule r counts from one time on,
  -- below another; nil where they are fewer than its limit whatever their category.
  local function counted(r, from, till)
    local of_rule, i = {}, 1
    while i <= count and times[i] < from do i = i + 1 end
    local least = times[i + rules.limits[r] - 1]
    if not least or least >= till then return nil end
    while i <= count and times[i] < till do
      if r <= rules.overall or category_of(ids[i], rules.copied) == rules.category then
        of_rule[#of_rule + 1] = i
      end
      i = i + 1
    end
    return of_rule
  end

  local found = {quiet = is_quiet(rules, t)}
  for r = 1, rules.count do
    local limit, window = rules.limits[r], rules.windows[r]
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
      local of_rule = counted(r, from, till)
      if of_rule and of_rule[limit] then
        for k = 1, #of_rule do add(of_rule[k]) end
      end
    else
      local of_rule = counted(r, t - window + 1, t + window) or {}
      local added = 0 -- groups overlap: the last entry that one has added
      for i = 1, #of_rule - limit + 1 do
        local j = i + limit - 1
        if times[of_rule[j]] - times[of_rule[i]] < window then
          for k = math.max(i, added + 1), j do add(of_rule[k]) end
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
  found.free = #found == 0 and not found.quiet
  return found, {ids = ids, times = times, first = first, last = last}
end

-- refusal completes the reply for a time that is not free, of which violations
-- gave `broken` and `near`.
local function refusal(rules, t, requested, broken, near, self)
  local excluded = self and {[self] = true}
  local next_free, next_resume = new_search(rules, 1, t, excluded, near)(now + reach)
  local previous, previous_resume
  if t > now then previous, previous_resume = new_search(rules, -1, t, excluded, near)(now) end
  local reply = {broken.quiet and QUIET_HOURS or SEND_LIMIT, now, t, requested or 0,
    next_free or 0, next_resume or 0, previous or 0, previous_resume or 0, rules.category or ''}
  for k = 1, #broken do reply[9 + k] = broken[k] end
  return reply
end

-- out_of_reach answers for a time that is past or too far ahead, or gives nil.
local function out_of_reach(t)
  if t < now - GRACE then return {IN_PAST, now, t, 0} end
  if t > now + reach then return {TOO_FAR_AHEAD, now, t, 0} end
end
-- places: where the place of a message is: in the user's timeline; or beside it,
-- in a set of the same form, where its category is exempt and does not count.
-- Which of them, the record's field z says.
local beside = string.gsub(timeline, '^([^}]*}:)u:', '%1x:', 1)

-- remove_place takes a message's place away.
local function remove_place(message, was_beside)
  redis.call('ZREM', was_beside and beside or timeline, message)
end

-- put_place gives a message its place at `at`, in the timeline or beside it,
-- wherever it was before, and keeps its record so.
local function put_place(key, message, at, was_beside, is_beside)
  if is_beside and not was_beside then
    redis.call('ZREM', timeline, message)
    redis.call('HSET', key, 'z', 1)
  elseif was_beside and not is_beside then
    redis.call('ZREM', beside, message)
    redis.call('HDEL', key, 'z')
  end
  redis.call('ZADD', is_beside and beside or timeline, at, message)
end
-- trim: forgets the places up to a time, but for those of messages that have
-- not ended: a message is found by its place as long as it is to be sent. The
-- record of another message of the user has a key that differs in the id alone.
local AT_ONCE = 64 -- places looked at; the rest has time
local function trim(oldest, places)
  if not record then return redis.call('ZREMRANGEBYSCORE', places, '-inf', oldest) end
  local old = redis.call('ZRANGE', places, '-inf', oldest, 'BYSCORE', 'LIMIT', 0, AT_ONCE)
  local records, ended = string.sub(record, 1, #record - #id), {}
  for k = 1, #old do
    local r = redis.call('HMGET', records .. string.gsub(old[k], ':', '/'), 's', 'g')
    if not r[2] or r[1] and r[1] ~= 's' then ended[#ended + 1] = old[k] end
  end
  if #ended > 0 then redis.call('ZREM', places, unpack(ended)) end
end
-- outlive: lets the timeline, or another sorted set of places if its key is given,
-- expire no earlier than the place at `at` can be forgotten and its message has
-- expired, and trims what is forgotten by now.
local function outlive(at, expiry, places)
  places = places or timeline
  local expires = math.max(at + keep, expiry or 0)
  if redis.call('PEXPIRETIME', places) < expires then
    redis.call('PEXPIREAT', places, expires)
  end
  trim(now - keep - 1, places)
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
-- a charge changes together with what it is for, or not at all; and one at `from`,
-- "" for anywhere.
local function is_as(y, stands, former, from)
  if charge == '' then return attempt_in(y) == '' and (from == '' or stands == tonumber(from)) end
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
--            somebody else to be told of, else 0, limit and window of its daily
--            rules as fragments/policy.lua has them, and the thresholds in percent:
--            "default UTC 0 10/-3,100/86400000 80 100". "" for no alerts.
local function alert_user(alerts, at)
  if alerts == '' then return end
  local prefix = string.match(timeline, '^[^}]*}:')
  local user = string.sub(timeline, #prefix + 3)
  local words, thresholds = {}, {}
  for word in string.gmatch(alerts, '%S+') do words[#words + 1] = word end
  for k = 5, #words do thresholds[k - 4] = tonumber(words[k]) end
  local gathered = words[3] == '1'
  local contact = redis.call('HEXISTS', prefix .. 'o:' .. user, 'contact') == 1
  if not gathered and not contact then return end

  local day_from, day_until = period(3, at)
  local used, limit, rule = 0, 1, nil
  for n, window in string.gmatch(words[4], '(%d+)/(-?%d+)') do
    local most, name
    n, window = tonumber(n), tonumber(window)
    if window < 0 then
      most, name = redis.call('ZCOUNT', timeline, day_from, day_until - 1), '/calendar_day'
    else
      most, name = fullest_window(window, at, n * thresholds[1] / 100), '/day'
    end
    if most / n > used / limit then used, limit, rule = most, n, whole(n) .. name end
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

local changed = settings_changed(KEYS[2])
if changed then return changed end

local generation = ARGV[12]
local stands, first_requested, former_generation, expiry, charged, category, was_beside
if record then
  local r = redis.call('HMGET', record, 's', 'g', 't', 'r', 'm', 'x', 'p', 'y', 'k', 'z')
  local state = state_of(r[1], r[2])
  stands = tonumber(r[3])
  -- The same call, repeated by a client that got no answer.
  if r[2] == generation or names(r[8], attempt_in(charge)) then
    local graced = ARGV[3] ~= '' and asked ~= stands
    return {ALLOWED, now, stands, graced and asked or 0, 0, tonumber(r[5])}
  end
  if id_is_free(state) then return {NOT_FOUND, now, 0, 0} end
  if state ~= PENDING then return {TOO_LATE, now, stands, 0} end
  if not is_as(r[8], stands, ARGV[18], ARGV[19]) then return {CHANGED, now, stands, 0} end
  former_generation, first_requested, expiry, charged = r[2], r[4] or r[7] or r[3], tonumber(r[6]), r[8]
  category, was_beside = r[9], r[10]
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

if blocked then return {BLOCKED, now, at, requested or 0} end
local rules = rules_in(ARGV[6], ARGV[9], category)
local broken, near = violations(rules, at, id)
if not broken.free then return refusal(rules, at, requested, broken, near, id) end
local answer = outside(at)
if answer then return answer end

put_place(record, id, at, was_beside, rules.uncounted)
outlive(at, record and (expiry or at + ARGV[15]), rules.uncounted and beside or timeline)
if record then
  redis.call('HSET', record, 'g', generation, 't', at, 'm', stands, 'r', first_requested)
  redis.call('HDEL', record, 'a', 'p', 'w', 'b')
  if charge ~= '' then redis.call('HSET', record, 'y', charged_on(charged)) end
  redis.call('ZREM', watch, former_generation .. ARGV[13])
  redis.call('ZADD', watch, now + ARGV[14], generation .. ARGV[13])
end
local notice
if not rules.uncounted then notice = alert_user(ARGV[8], at) end
return {ALLOWED, now, at, requested or 0, 0, stands, notice}
