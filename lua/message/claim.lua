-- message/claim.lua: the gate that a message passes just before its delivery.
--
-- Only a task of the record's present generation may deliver; any other is stale. A repeated call
-- with the same nonce returns the same answer. If a worker dies, another one takes the message over
-- after the lease: the outcome of the first try is then uncertain. The store may have been
-- unavailable when the lease ended. So the first worker may still settle during a grace period,
-- which is counted in looks at the message: each look shows that the store answered then.
--
-- A message of a category that the user does not want, or of a blocked user, is dropped. A message
-- that is on time, within the tolerance, is sent at its place, even if the rules have changed, but
-- not while the user is not disturbed, or if its place is in the user's own quiet hours: then it
-- is judged as a late one, unless it is exempt. A late one is judged again at the present time,
-- together with all late unsent messages in the user's timeline, see fragments/late.lua. Uncounted
-- ones are beside the timeline: each is judged separately. A late message is sent if it gets the
-- present time. If an older one of its class can be sent now, this one waits for a while: normally
-- the older one has a task, which places the rest. It also waits while an older one of its class is
-- being sent, until that is settled or taken over. A message that failed and waits for its retry
-- delays none. A message of an exempt category is sent at once.
-- A message that keeps its local time is not sent at an instant that was read in a former zone of the
-- user: whoever claims it has to read it anew first, which only Go can.
-- A message of a paused campaign waits at its place, which counts, until it expires or the campaign
-- is resumed, see message/resume.lua. It delays none.
--
-- A message that may have arrived delays none either, and its place counts as if it had been sent,
-- also for later messages. So it gets no later place. If it is late, it is sent if the rules leave
-- the present time free without that place, which then moves to the present time. Otherwise it
-- waits for the next free time as for a retry, and is judged again.
--
-- A message that reached a device before is tried again on the others. It delays none. If it is
-- late, it is sent if its place still counts, no other place lies between that and now, and the
-- rules leave the present time free. Its place then moves to the present time, so that it counts
-- together with further devices. Otherwise it is given up on the others. Where other messages are
-- dropped or end uncertain, it ends as delivered.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  devices of the user (STRING, see package devices); optional
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  message id
-- ARGV[5]  generation of the task
-- ARGV[6]  nonce of this delivery
-- ARGV[7]  lease of this delivery, ms
-- ARGV[8]  watch word, see fragments/watch.lua
-- ARGV[9]  options of the gate, "." for none: the tolerance, which is how late a message may be
--          sent at its place, ms; the expiry of a message without its own, ms after its promised
--          time; messages due before this time, Unix ms, are given up, since they may have been
--          sent; the grace period after the lease of another delivery, ms, 0 for none; after how
--          many deliveries a message is given up if the last was not settled; how long an ended
--          record is kept, ms; the delay of the watch entry of a postponed message, ms; the
--          horizon, ms: how long before its time a message is handed over; 1 to keep the content
--          of a delivered message
-- ARGV[10] where the search for a free time continues, and in which class, as in the
--          reply; "" to start now
-- ARGV[11] accounts with listeners, see fragments/event.lua; "" for none
-- ARGV[12] paused campaigns, " account/campaign account/campaign "; "" for none
--
-- Returns  {SEND, now, send time, promised time or 0, requested time or 0, attempts
--          with this one, category, content, 1 if taken over from a delivery that did
--          not settle, else 0, account, campaign, metadata, devices of the user,
--          outcomes on devices as in the record, expiry, trace as in the
--          record, alerts, changes ...}
--          {STALE, now}                another generation, or ended: nothing to do
--          {BUSY, now, until, 1 in the grace period after a lease else 0}  another worker
--                                      is sending it until its lease ends, or an
--                                      older one is sent first: call again
--          {EARLY, now, due}           not yet due
--          {DROP, now, send time, reason, account, alerts, changes ...}
--          {POSTPONED, now, alerts, changes ...}: this message is among the changes, or waits
--                                      under a new generation until other rules apply, or, if
--                                      it may have arrived, until a time that is free now
--          {PAUSED, now, until}        it waits under a new generation: the watch list has it
--          {REACHED, now, send time, reason, account}  it ended as delivered, and is not tried on
--                                      the other devices
--          {OTHER_ZONE, now}           nothing was done: read its local time in the user's present
--                                      zone, move it or let it keep its place, and call again
--          {LOOK_ON, now, where the search continues or 0, what first forbade it
--          ("-" for nothing, a number as in judge/judge.lua) and its class,
--          alerts, changes ...}: call again
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua: late messages only
--          {RULES_OLD, now}            the same, or on time after another delivery or an older
--                                      late one
--          account is the charged account, "" for none. alerts is an array of the ids of raised
--          alerts. changes has six elements for each changed message of the user, but not for
--          the drop of this one: id, new generation, new time, former time, account, campaign;
--          for a dropped one: id, reason, 0, send time, account, campaign.
-- Cost     On time, O(log n) in the user's reservations and the partition's watch list; at a
--          later place also O(k) in the older waiting messages, at most 1,000. Late, also O(k)
--          in those since the late mark and from now until the last time given: at most LOOKED
--          records and q.work steps of all searches.

if #KEYS ~= 2 and #KEYS ~= 3 or #ARGV ~= 12 then
  return redis.error_reply('ERR message/claim.lua: wrong number of keys or arguments')
end
--@include moving

local call = redis.call
local record, timeline, id, generation, nonce = KEYS[1], KEYS[2], ARGV[4], ARGV[5], ARGV[6]
local tolerance, expire_after, due_since, grace, others_at = string.match(ARGV[9], '^(%S+) (%S+) (%S+) (%S+) ()')
tolerance, due_since = tonumber(tolerance), tonumber(due_since)
local SEND, STALE, BUSY, EARLY, DROP, POSTPONED, PAUSED, REACHED, LOOK_ON = 0, 1, 2, 3, 4, 5, 6, 7, 9
-- Reasons for a message that reached a device.
local GIVEN_UP = ' expired no_free_time blocked opted_out restored uncertain '
--@include clock
--@include partition
--@include record
--@include progress
--@include ended
--@include dead
--@include content
--@include metadata
--@include paused
--@include switched_off
--@include grace
--@include history
local records = string.sub(record, 1, #record - #id)
local user, member = string.sub(timeline, #prefix + 3), generation .. string.sub(ARGV[8], 2)
local own_settings = prefix .. 'o:' .. user
-- The late messages of the user that wait (ZSET: see fragments/waiting.lua -> promised time, Unix
-- ms). Some may have ended since.
local near_list, waiting = prefix .. 'watch', prefix .. 'w:' .. user

local r = call('HMGET', record, 's', 'g', 't', 'n', 'o', 'u', 'a', 'x', 'r', 'k', 'c', 'p', 'w', 'b', 'q', 'y',
  'v', 'l', '1', '2', '3', '4', '5', '6', '7', 'C', 'M', 'D', 'L', 'W')
local state, at, tries = state_of(r[1], r[2]), tonumber(r[3]), tonumber(r[4] or 0)
local promised, notices, reached = tonumber(r[12]), {}, has_reached(r[28])
local devices = KEYS[3] and call('GET', KEYS[3]) or ''
--@include overdue

local function send(try)
  local taken_over = state == SENDING and try > tries and 1 or 0
  return {SEND, now, at, promised or 0, tonumber(r[9] or 0), try, r[10] or '', join_content(r[11], r, 19), taken_over,
    account_of(r[16]), r[26] or '', metadata_of(record, r[27]), devices, r[28] or '',
    tonumber(r[8]) or (promised or at) + expire_after, r[29] or '', notices}
end

-- hold gives the message to this delivery, at its place.
local function hold()
  local lease_end = now + ARGV[7]
  if state == SENDING then
    call('HSET', record, 'q', 1, 's', SENDING, 'o', nonce, 'u', lease_end, 'n', tries + 1)
    note_history(record, 'o', {attempt = tries})
  else
    call('HSET', record, 's', SENDING, 'o', nonce, 'u', lease_end, 'n', tries + 1)
  end
  if state == PENDING and r[13] == 'paused' then
    call('HDEL', record, 'w')
    note_history(record, 'g', {})
  end
  if r[14] or r[17] then call('HDEL', record, 'b', 'v', 'l') end
  if promised then call('ZREM', waiting, waiting_member(id, r[10]), unpack(ended_since)) end
  if call('ZADD', near_list, lease_end, member) == 1 then
    call('ZREM', prefix .. 'far:' .. string.sub(ARGV[8], 1, 1), member)
  end
end

local paused = is_paused(r[26], r[16])
local unwanted = r[2] == generation and switched_off(own_settings, ARGV[2], r[10])
-- Whether the user's settings may hold the message, even if it is on time.
local wary = off and (off.all or off.quiet or off.disturb_from > now) and not unwanted
local overdue -- the result of overdue_before
if r[2] == generation then
  if state == PENDING then
    -- The common case: it does not depend on the user's other messages.
    local due = tonumber(r[7] or at)
    if now < due then return {EARLY, now, due} end
    local OTHER_ZONE = 8 -- here, since the embedded store bounds the locals of a script
--@include other_zone
    local lives = not unwanted and now < (tonumber(r[8]) or (promised or at) + expire_after) and at >= (due_since or at)
    if lives and not reached and not r[15] and other_zone(r[30], off and off.zone) then return {OTHER_ZONE, now} end
    if lives and now <= at + tolerance and not paused then
      overdue = promised and tries == 0 and not reached and not r[15] and overdue_before()
      if not overdue and not wary then
        hold()
        return send(tries + 1)
      end
    end
  elseif state == SENDING then
    if r[5] == nonce then return send(tries) end
    if now < tonumber(r[6]) then return {BUSY, now, tonumber(r[6]), 0} end
    local in_grace = grace_until(record, 'v', 'l', {r[17], r[18]}, grace)
    if in_grace then return {BUSY, now, in_grace, 1} end
  elseif (state == DROPPED or state == UNCERTAIN) and r[5] == nonce then
    return {DROP, now, at, r[13], account_of(r[16]), notices}
  elseif state == DELIVERED and r[5] == nonce and reached
      and string.find(GIVEN_UP, table.concat({' ', r[13] or '', ' '}), 1, true) then
    -- This delivery ended it; if it settled, the reason is another one.
    return {REACHED, now, at, r[13], account_of(r[16])}
  else
    return {STALE, now}
  end
end

-- following returns a new generation that depends only on the former one and this delivery, so that
-- a repeated call finds its own changes.
local function following(former)
  return string.sub(redis.sha1hex(former .. '/' .. nonce), 1, 18)
end

if r[2] ~= generation then
  if state == PENDING and r[2] == following(generation) then
    if r[13] == 'paused' then return {PAUSED, now, tonumber(r[7] or at)} end
    if r[7] then return {POSTPONED, now, notices} end
    return {POSTPONED, now, notices, id, r[2], at, promised or at, account_of(r[16]), r[26] or ''}
  end
  return {STALE, now}
end

local most_tries, keep_record, look_after, horizon, keeps_content =
  string.match(ARGV[9], '^(%S+) (%S+) (%S+) (%S+) (%S+)$', others_at)
--@include judge/policy
--@include settings_status
-- Without young rules no message is dropped or taken over: the clock may have stepped.
if rules_until and now > rules_until then return {RULES_OLD, now} end

--@include judge/category
--@include places
--@include watch_others
--@include event
local changes = {}

-- begin_end ends a message without delivery, except for the steps of ends_so.
local function begin_end(m, how, reason)
  if m.id == id then
    call('HSET', m.record, 's', how, 'e', now, 'w', reason, 'o', nonce)
  else
    call('HSET', m.record, 's', how, 'e', now, 'w', reason)
  end
  call('HDEL', m.record, 'a', 'u', 'v', 'l')
end

-- ends_so reports the end, and then removes the watch entry: see message/mend.lua.
local function ends_so(m, kind, reason)
  note_event(ARGV[11], m.record, nil, user, m.id, kind, m.at, nil, reason)
  remove_entry(m.id, m.member)
end

local function changed(m, new, to)
  local n = #changes
  changes[n + 1], changes[n + 2], changes[n + 3] = m.id, new, to
  changes[n + 4], changes[n + 5], changes[n + 6] = m.at, account_of(m.charged), m.campaign or ''
end

local function with_changes(reply)
  for k = 1, #changes do reply[#reply + 1] = changes[k] end
  return reply
end

-- in_doubt ends a message that may have arrived: it keeps its place and its id.
local function in_doubt(m, reason)
  begin_end(m, UNCERTAIN, reason)
  call('PEXPIRE', m.record, math.max(tonumber(keep_record), m.at + keep - now)) -- while its place counts
  note_dead(prefix .. 'dead', m.id .. '/' .. user, keep_record)
  ends_so(m, 'uncertain', reason)
  return reason
end

-- drop ends a message that can no longer be sent, and returns why.
local function drop(m, reason)
  if m.doubt then return in_doubt(m, 'uncertain') end
  begin_end(m, DROPPED, reason)
  erase_content(m.record)
  call('PEXPIRE', m.record, keep_record)
  remove_place(m.id, m.beside, m.category)
  note_ended(prefix .. 'e:' .. user, m.record, m.id, m.at, keep_record)
  ends_so(m, 'dropped', reason)
  return reason
end

local this = {id = id, record = record, member = member, generation = generation, at = at, promised = promised,
  doubt = state == SENDING or r[15], charged = r[16], expires = tonumber(r[8]) or (promised or at) + expire_after,
  category = r[10], beside = call('HGET', record, 'z'), tries = tries,
  held = state == PENDING and r[13] == 'paused', campaign = r[26]}

-- end_reached ends the message as delivered.
local function end_reached(reason)
  if state == SENDING then call('HSET', record, 'q', 1) end
  call('HSET', record, 's', DELIVERED, 'e', now, 'w', reason, 'o', nonce)
  if keeps_content == '1' then
    call('HDEL', record, 'a', 'u', 'v', 'l')
  else
    erase_content(record, {'a', 'u', 'v', 'l'})
    if r[11] and #r[11] > 64 then write_anew(record) end
  end
  call('PEXPIRE', record, math.max(tonumber(keep_record), at + keep - now)) -- while its place counts
  note_event(ARGV[11], record, {r[16], r[4], r[26], r[27], r[30], r[9]}, user, id, 'delivered', at)
  remove_entry(id, member)
  return {REACHED, now, at, reason, account_of(r[16])}
end

if reached then
  if state == SENDING and tries >= tonumber(most_tries) then return end_reached('uncertain') end
  if at < (due_since or at) then return end_reached('restored') end
  if now >= this.expires then return end_reached('expired') end
  if unwanted then return end_reached(unwanted) end
end
if state == SENDING and tries >= tonumber(most_tries) then
  return {DROP, now, at, in_doubt(this, 'uncertain'), account_of(r[16]), notices}
end
if at < (due_since or at) then
  return {DROP, now, at, in_doubt(this, 'restored'), account_of(r[16]), notices}
end
if now >= this.expires then return {DROP, now, at, drop(this, 'expired'), account_of(r[16]), notices} end
if unwanted then return {DROP, now, at, drop(this, unwanted), account_of(r[16]), notices} end
if paused then -- it waits as for a retry, at most for an hour: the program that resumes it may die
  local until_at, new = math.min(now + 3600000, this.expires), following(generation)
  call('ZADD', near_list, math.max(now + look_after, until_at - horizon), new .. suffix_of(id))
  if this.doubt then call('HSET', record, 'q', 1) end
  call('HSET', record, 'g', new, 'a', until_at, 'w', 'paused')
  if state == SENDING then note_history(record, 'o', {attempt = tries}) end
  if not this.held then note_history(record, 'w', {to = this.expires}) end
  call('HDEL', record, 's', 'u', 'b', 'v', 'l', 'o') -- no former delivery may settle it
  remove_entry(id, member)
  return {PAUSED, now, until_at}
end
if now <= at + tolerance and not overdue and not wary then
  hold()
  return send(tries + 1)
end

--@include settings
do
  local others = settings_changed(own_settings, now)
  if others then return others end
end

--@include judge/judge
--@include judge/categories
--@include wants_nothing
--@include judge/taken
--@include trim
--@include outlive
--@include user_alert
local waits_since = tonumber(r[14]) or now
-- is_patient reports whether the message still waits for an older one. Its patience does not start
-- before `from`.
local function is_patient(from)
  local PATIENCE = 30000 -- ms, for all older ones together
  return now - math.max(waits_since, from) < PATIENCE
end
--@include late
if wants_nothing(r[10]) then
  if reached then return end_reached('opted_out') end
  return {DROP, now, at, drop(this, 'opted_out'), account_of(r[16]), notices}
end

-- sent_late sends the message now.
local function sent_late()
  hold()
  call('ZREM', waiting, waiting_member(id, r[10]))
  call('HSET', record, 't', now, 'p', promised or at)
  note_history(record, 'p', {to = now, from = at, reason = 'late'})
  call('HDEL', record, 'm', 'a')
end

this.class = class_of(r[10])
local rules = this.class.rules
if now <= at + tolerance then -- on time, but the user's settings may hold it, or an older one may be late
  local waits = q.disturb_from or off and off.quiet and q.quiet_in and q.past_quiet(q.quiet_in('*'), 1, at)
  for k = 1, overdue and not this.beside and #overdue or 0 do
    waits = waits or class_of(overdue[k]) == this.class
  end
  if not waits or rules.exempt then
    hold()
    return send(tries + 1)
  end
end
if reached and not rules.exempt then
  q.excluded[id] = true
  local passed = at < now - keep or call('ZRANGE', timeline, '(' .. whole(at), now, 'BYSCORE', 'LIMIT', 0, 1)[1]
  if passed or not next_free(q, rules, now, 1, now) then return end_reached('no_free_time') end
end
if rules.exempt or reached then
  put_place(record, id, now, this.beside, rules.uncounted, this.category)
  outlive(now, this.expires, rules.uncounted and beside or timeline, not rules.uncounted and this.category)
  if not rules.uncounted then notices[1] = alert_user(now) end
  sent_late()
  promised, at = promised or at, now
  return send(tries + 1)
end

local late, behind = {this}, false
if not this.doubt then late, behind = late_ones() end
q.excluded[id] = true
local judged, resume, resume_in = judge(late)
if this.doubt and this.to and this.to > now then
  this.wakes = this.to
  this.to = nil
end
if resume then return {LOOK_ON, now, resume, resume_in, notices} end

-- wait_for returns the reply that the message waits for an older one, or nil if it has waited for
-- too long: see is_patient.
local function wait_for(from)
  -- SOON to LATER ms between two looks, and not in the last RESERVE before its own expiry.
  local SOON, LATER, RESERVE = 500, 2000, 5000
  if not is_patient(from) or this.expires - now <= RESERVE then return nil end
  if waits_since == now then call('HSET', record, 'b', now) end
  return {BUSY, now, now + math.min(LATER, math.max(SOON, now - waits_since)), 0}
end

-- The oldest of its class that got a time is sent first, if it can be sent now. If it is not sent,
-- its task may be lost: it gets another below.
local first = 1
while first <= judged and not (late[first].to and late[first].class == this.class) do first = first + 1 end
if first <= judged and late[first] ~= this and late[first].to == now then
  local wait = wait_for(0)
  if wait then return wait end
end
-- An older one that is being sent comes first too, and older ones that wait for it.
if (this.to == now or this.class.left_out) and this.class.sent_until then
  local wait = wait_for(this.class.sent_until)
  if wait then return wait end
end

-- All places first, then the alerts, then the records: see place/reserve.lua.
local sent, latest, expires, categories = false, now, 0, {}
for k = 1, judged do
  local m = late[k]
  m.stays = m.waits and m.to == m.at
  if m.to then expires = math.max(expires, m.expires) end
  if m.to and not m.stays then
    latest = math.max(latest, m.to)
    put_place(m.record, m.id, m.to, m.beside, false, m.category)
    if m.category then categories[m.category] = true end
  elseif not m.to and not m.wakes then
    m.reason = drop(m, now < m.expires and 'no_free_time' or 'expired')
    if m ~= this then changed(m, m.reason, 0) end
  end
end
for k = 1, judged do
  if late[k].to and not late[k].stays then notices[#notices + 1] = alert_user(late[k].to) end
end
for k = 1, #late do
  local m = late[k]
  if k > judged or m.wakes and m ~= this then
    if m.waits then -- its place did not count, so it is late from now on
      call('HSET', m.record, 't', m.promised)
      put_place(m.record, m.id, m.promised, m.beside, false, m.category)
    end
  elseif m == this and m.to == now then
    sent = true
    sent_late()
  elseif m.wakes or m.to and not m.stays then
    local new, why, till = following(m.generation), in_the_way(m), m.to or m.wakes
    call('ZADD', near_list, math.max(now + look_after, till - horizon), new .. suffix_of(m.id))
    if m.doubt then call('HSET', m.record, 'q', 1) end
    if m.wakes then
      call('HSET', record, 'g', new, 'a', till, 'w', why)
    else
      call('HSET', m.record, 'g', new, 't', m.to, 'p', m.promised or m.at, 'w', why)
    end
    if m.held then note_history(m.record, 'g', {}) end
    note_history(m.record, 'p', {to = till, from = m.at, reason = why})
    call('HDEL', m.record, 's', 'u', 'b', 'v', 'l')
    if m.behind then call('HSET', m.record, 'b', waits_since) end -- it has waited as long
    if m == this then call('HDEL', m.record, 'o') end -- no former delivery may settle it
    if m.to then
      call('HDEL', m.record, 'a', 'm')
      call('ZADD', waiting, m.promised or m.at, waiting_member(m.id, m.category))
      changed(m, new, m.to)
    end
    remove_entry(m.id, m.member)
    note_event(ARGV[11], m.record, nil, user, m.id, 'postponed', till, m.at, why)
  end
end
for k = 1, #ended_since do call('ZREM', waiting, ended_since[k]) end
if call('PEXPIRETIME', waiting) < expires then call('PEXPIREAT', waiting, expires) end
outlive(latest, expires, timeline)
for category in pairs(categories) do outlive(latest, expires, places_of(category)) end

if sent then
  promised = promised or at
  at = now
  return with_changes(send(tries + 1))
end
if not this.wakes and (behind or judged < #late and not this.to) then
  return with_changes({LOOK_ON, now, 0, '', notices})
end
if this.to or this.wakes then return with_changes({POSTPONED, now, notices}) end
return with_changes({DROP, now, at, this.reason, account_of(r[16]), notices})
