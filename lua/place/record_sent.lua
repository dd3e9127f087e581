-- place/record_sent.lua: records a message that was sent in the past, so that it counts from now
-- on.
--
-- It judges nothing: it takes the place even if that breaks rules. The record is that of a
-- delivered message. A message that is too old for any rule is not recorded.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); for
--          an uncounted message, the places beside it, see fragments/places.lua
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua; the rules are ignored
-- ARGV[4]  message id
-- ARGV[5]  send time, Unix ms
-- ARGV[6]  with KEYS[3]: how long an ended record is kept, ms
-- ARGV[7]  with KEYS[3]: watch word, see fragments/watch.lua
-- ARGV[8]  with KEYS[3]: scores in the index, see fragments/scores.lua
-- ARGV[9]  with KEYS[3]: category; "" for none
-- ARGV[10] with KEYS[3]: 1 if its place is beside the timeline, else ""
-- ARGV[11] with KEYS[3]: generation, created for this call
-- ARGV[12] with KEYS[3]: fingerprint
-- ARGV[13..] with KEYS[3]: further fields and values of the record
--
-- Returns  {ALLOWED, now, send time, flags, id of a raised alert, if any}, flags
--          REPLAYED or FORGOTTEN;
--          {ID_REUSED, now, send time, 0};
--          {TOO_MANY_PLACES, now, send time, 0}: see judge/judge.lua; or
--          {NOT_OVER, now, send time, 0}: the time is in the future; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n) in the user's reservations.

if not (#KEYS == 2 and #ARGV == 5 or #KEYS == 3 and #ARGV >= 12 and #ARGV % 2 == 0) then
  return redis.error_reply('ERR place/record_sent.lua: wrong number of keys or arguments')
end
--@include moving

local timeline, record, id = KEYS[1], KEYS[3], ARGV[4]
--@include clock
--@include judge/policy
local at = tonumber(ARGV[5])
local NOT_OVER, TOO_MANY_PLACES, FORGOTTEN = 9, 19, 4
local hold_word = '' -- no account is charged for a past message

--@include status
--@include record
--@include settings
--@include trim
--@include judge/category
--@include outlive
--@include judge/zone
--@include held
--@include hold
--@include user_alert
--@include found
--@include remove_found
--@include replace
--@include former_place

local changed = settings_changed(KEYS[2])
if changed then return changed end
if at > now then return {NOT_OVER, now, at, 0} end

if record then
  local r = redis.call('HMGET', record, 's', 'g', 't', 'f')
  -- The same call, repeated by a client without a reply.
  if r[2] == ARGV[11] then return {ALLOWED, now, tonumber(r[3]), 0} end
  if not id_is_free(state_of(r[1], r[2])) then
    if r[4] ~= ARGV[12] then return {ID_REUSED, now, at, 0} end
    return {ALLOWED, now, tonumber(r[3]), REPLAYED}
  end
else
  local held = tonumber(redis.call('ZSCORE', timeline, id) or -1)
  if held >= now - keep then
    return {held == at and ALLOWED or ID_REUSED, now, at, held == at and REPLAYED or 0}
  end
end
if at < now - keep then return {ALLOWED, now, at, FORGOTTEN} end
local day = at - at % DAY
if most_places and redis.call('ZCOUNT', timeline, math.max(day, bounded_since), day + DAY - 1) >= most_places then
  return {TOO_MANY_PLACES, now, at, 0}
end

local category = record and ARGV[9] ~= '' and ARGV[10] == '' and ARGV[9] or nil
local scores = ARGV[8] or ''
--@include scores
local letter, suffix = string.sub(ARGV[7] or '', 1, 1), string.sub(ARGV[7] or '', 2)
local former = record and redis.call('HMGET', record, 'y', 'k', 'C')
if record then
  local there = redis.call('EXISTS', record) == 1 -- of an ended message with the same id
  if id_score then add_found('ids', letter, id_score, suffix, there) end
  if campaign_score then add_found('camps', letter, campaign_score, suffix, there) end
end
if record then keep_former_place(former[2], redis.call('PEXPIRETIME', record)) end
redis.call('ZADD', timeline, at, id)
if category then redis.call('ZADD', places_of(category), at, id) end
outlive(at, nil, timeline, category)
if record then
  if former[2] and former[2] ~= category then redis.call('ZREM', places_of(former[2]), id) end
  local fields = {'g', ARGV[11], 's', DELIVERED, 't', at, 'f', ARGV[12], 'e', at, unpack(ARGV, 13)}
  local function set(field, value)
    if value ~= '' then fields[#fields + 1], fields[#fields + 2] = field, value end
  end
  if former[1] then set('y', charged_anew(former[1])) end
  set('k', ARGV[9])
  set('z', ARGV[10])
  -- An id must be remembered while its place still counts.
  replace_record(record, fields, math.max(tonumber(ARGV[6]), at + keep - now))
  if former[3] and not campaign_score then remove_found('camps', letter, suffix) end
end
return {ALLOWED, now, at, 0, alert_user(at)}
