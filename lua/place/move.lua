-- place/move.lua: gives a reservation another place, or returns why not.
--
-- The reservation's own place does not count against the new one, and is kept when the new one is
-- refused. A message can be moved until it is being sent; after that only if it is tried again, and
-- can't have reached a device at its place.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  message id
-- ARGV[5]  new send time, Unix ms; "" for now
-- ARGV[6]  with KEYS[3]: new generation
-- ARGV[7]  with KEYS[3]: watch word, see fragments/watch.lua
-- ARGV[8]  with KEYS[3]: delays, see fragments/watched.lua
-- ARGV[9]  with KEYS[3]: hold of the move, see fragments/held.lua
-- ARGV[10] with KEYS[3]: send time of the reservation, Unix ms; "" for any time,
--          allowed only without a charge
-- ARGV[11] with KEYS[3]: categories whose messages can't be moved with this charge,
--          each between spaces; "" for none
-- ARGV[12] with KEYS[3]: how many moves the message may make in a minute, which begins
--          with the first of them; for any number "", or why it is moved, for its history.
--          Only moves from, into or within the horizon count
-- ARGV[13] with KEYS[3]: 1 to only judge: nothing is written, and the charge of the
--          message does not matter; else ""
-- ARGV[14] with KEYS[3]: accounts with listeners, see fragments/event.lua; "" for none
-- ARGV[15..] with KEYS[3]: an edit that is made together with the move, see
--          fragments/edit.lua; optional
--
-- Returns  a decision, see judge/reply.lua;
--          {PAST_EXPIRY, now, send time, 0, expiry}: the message expires by then; or
--          {MOVED_OFTEN, now, send time, 0, when it may be moved again}; or
--          {EDITED, now, send time, 0}: the edit is based on another version; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     as reserve.lua.

if #KEYS == 2 and #ARGV ~= 5 or #KEYS ~= 2 and (#KEYS ~= 3 or #ARGV ~= 14 and (#ARGV < 18 or #ARGV % 2 == 1)) then
  return redis.error_reply('ERR place/move.lua: wrong number of keys or arguments')
end
--@include moving

local timeline, record = KEYS[1], KEYS[3]
local id, given = ARGV[4], {unpack(ARGV, 15)}
local watch_word, delays, hold_word = ARGV[7], ARGV[8], ARGV[9]
--@include clock
--@include judge/policy
--@include watched
--@include held
local asked = tonumber(ARGV[5]) or now
local most_moves, only_judge = tonumber(ARGV[12] or ''), ARGV[13] == '1'
local PAST_EXPIRY = 8

--@include status
--@include moves
--@include record
--@include settings
--@include switched_off
--@include judge/category
--@include judge/judge
--@include judge/categories
--@include wants_nothing
--@include judge/reply
--@include judge/reach
--@include places
--@include trim
--@include outlive
--@include hold
--@include user_alert
--@include watch
--@include content
--@include metadata
--@include event
--@include history
--@include edit

local changed = settings_changed(KEYS[2], math.max(asked, now))
if changed then return changed end

local generation = ARGV[6]
local stands, first_requested, former_generation, former_due, expiry, charged, category, was_beside
local moves, moves_since, follows = 0, now, nil
if record then
--@include progress
  local r = redis.call('HMGET', record, 's', 'g', 't', 'r', 'm', 'x', 'p', 'y', 'k', 'z', 'a', 'd', 'j', 'H', 'D', 'q',
    'W')
  follows = string.find(r[17] or '', '^[fd] ')
  local state = state_of(r[1], r[2])
  stands = tonumber(r[3])
  -- The same call, repeated by a client without a reply.
  if r[2] == generation or has_attempt(r[8], attempt_in(charge)) then
    local graced = ARGV[5] ~= '' and asked ~= stands
    return {ALLOWED, now, stands, graced and asked or 0, 0, tonumber(r[5])}
  end
  if id_is_free(state) then return {NOT_FOUND, now, 0, 0} end
  if state ~= PENDING or has_reached(r[15]) or r[16] and stands <= now then return {TOO_LATE, now, stands, 0} end
  if not only_judge and not is_as(r[8], stands, former_attempt, ARGV[10]) then return {CHANGED, now, stands, 0} end
  former_generation, first_requested, expiry, charged = r[2], r[4] or r[7] or r[3], tonumber(r[6]), r[8]
  category, was_beside, former_due = r[9], r[10], tonumber(r[11]) or stands
  if not only_judge and category and string.find(ARGV[11], ' ' .. category .. ' ', 1, true) then
    return {CHANGED, now, stands, 0}
  end
  if not fits(r[2], r[14]) then return {EDITED, now, stands, 0} end
  expiry = edited(expiry)
  if r[12] and now - r[12] < MINUTE then moves_since, moves = tonumber(r[12]), tonumber(r[13]) end
else
  stands = tonumber(redis.call('ZSCORE', timeline, id) or -1)
  if stands < now - keep then return {NOT_FOUND, now, 0, 0} end
end

local at, requested = asked, nil
if asked ~= stands then
  local answer = out_of_reach(asked)
  if answer then return answer end
  if asked < now then at, requested = now, asked end
end
if expiry and at >= expiry and (asked ~= stands or edits('expires_at')) then
  return {PAST_EXPIRY, now, at, 0, expiry}
end
local too_late = edits('expires_at') and expires_late(expiry, at)
if too_late then return too_late end
if at == stands then
  if follows and most_moves and not only_judge then redis.call('HDEL', record, 'W') end
  if edit and not only_judge then
    make_edit(record)
    local lasts = expiry or at + expire_after
    outlive(at, lasts, was_beside and beside or timeline, not was_beside and category)
    local waiting = string.gsub(timeline, '^([^}]*}:)u:', '%1w:', 1)
    local expires = redis.call('PEXPIRETIME', waiting) -- the message may be in it
    if expires >= 0 and expires < lasts then redis.call('PEXPIREAT', waiting, lasts) end
  end
  return {ALLOWED, now, at, requested or 0, 0, stands}
end
local is_counted = record and costs_queue(stands, at, tonumber(horizon))
if is_counted and moves >= (most_moves or math.huge) then return {MOVED_OFTEN, now, at, 0, moves_since + MINUTE} end

if blocked then return {BLOCKED, now, at, requested or 0} end
if switched_off(KEYS[2], settings, category) or wants_nothing(category) then
  return {OPTED_OUT, now, at, requested or 0}
end
local rules = rules_in(rule_words, scope_words, category)
q.excluded[id] = true
local broken = violations(q, rules, at)
if not broken.free then return refusal(q, rules, at, requested, broken) end
local answer = outside(at)
if answer then return answer end
if only_judge then return {ALLOWED, now, at, requested or 0, 0, stands} end

-- The new watch entry first, the former one last: if the log is torn in between, one of them is
-- there.
if record then add_entry(letter, at - horizon, look_after, generation .. suffix) end
put_place(record, id, at, was_beside, rules.uncounted, category)
local lasts, counted_in = record and (expiry or at + expire_after), not rules.uncounted and category
outlive(at, lasts, rules.uncounted and beside or timeline, counted_in)
local notice
if not rules.uncounted then notice = alert_user(at) end
if record then
  local fields = {'g', generation, 't', at, 'm', stands, 'r', first_requested}
  local function set(field, value) fields[#fields + 1], fields[#fields + 2] = field, value end
  if is_counted then
    set('d', moves_since)
    set('j', moves + 1)
  end
  if charge ~= '' then set('y', charged_on(charged)) end
  if most_moves then set('E', 1) end -- its caller did it
  redis.call('HSET', record, unpack(fields))
  local reason = not most_moves and ARGV[12] or ''
  redis.call('HDEL', record, 'a', 'p', 'w', 'b')
  if reason == '' then redis.call('HDEL', record, 'W') end
  note_history(record, 'm', {to = at, from = stands, reason = reason})
  make_edit(record)
  note_event(ARGV[14], record, nil, string.match(timeline, '^[^}]*}:u:(.*)$'), id, 'moved', at, stands,
    reason)
  remove_entry(letter, former_generation .. suffix)
end
if not record then return {ALLOWED, now, at, requested or 0, 0, stands, notice} end
return {ALLOWED, now, at, requested or 0, SUPERSEDED, stands, former_generation, former_due, notice}
