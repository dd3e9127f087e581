-- place/release.lua: gives a reservation back; with a record, it cancels the message.
--
-- A message can be cancelled until it is being sent; after that only if it is tried again and has
-- reached no device. Its content is erased at once. If it may have arrived, it is not sent again,
-- and its place counts until the rules forget it, under another name. Its record is kept for a
-- while, so that a second call does no harm.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  record of the message (HASH, see fragments/record.lua); optional
-- KEYS[3]  ended messages of the user without a place (ZSET: message id -> send time, Unix ms); with KEYS[2]
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  how long a place counts: largest window of the rules and the grace, ms
-- ARGV[4]  with KEYS[2]: watch word, see fragments/watch.lua
-- ARGV[5]  with KEYS[2]: how long to keep the record of an ended message, ms
-- ARGV[6]  with KEYS[2]: hold of the release, see fragments/held.lua
-- ARGV[7]  with KEYS[2]: send time of the reservation, Unix ms; "" for any time,
--          allowed only without a charge
-- ARGV[8]  with KEYS[2]: accounts with listeners, see fragments/event.lua; "" for none
-- ARGV[9]  with KEYS[2]: why the message is dropped; "" if it is cancelled
--
-- Returns  {status, now, freed time, 0, flags, 0, ...}, see judge/reply.lua:
--          ALLOWED (REPLAYED if it was cancelled before), NOT_FOUND, TOO_LATE,
--          CHANGED or HOLD_OVER.
-- Cost     O(log n) in the user's reservations.

if not (#KEYS == 1 and #ARGV == 3 or #KEYS == 3 and #ARGV == 9) then
  return redis.error_reply('ERR place/release.lua: wrong number of keys or arguments')
end
--@include moving

local timeline, record = KEYS[1], KEYS[2]
local id = ARGV[2]
--@include clock
--@include status
--@include record
--@include progress
--@include ended
--@include content
--@include metadata
--@include judge/category
--@include places
--@include former_place
--@include watch
--@include event
local hold_word = ARGV[6]
--@include held
--@include hold

if not record then
  local held = tonumber(redis.call('ZSCORE', timeline, id) or -1)
  if held < now - ARGV[3] then return {NOT_FOUND, now, 0, 0} end
  redis.call('ZREM', timeline, id)
  return {ALLOWED, now, held, 0, 0, 0}
end

local r = redis.call('HMGET', record, 's', 'g', 't', 'y', 'z', 'k', 'a', 'D', 'q')
local state, stood = state_of(r[1], r[2]), tonumber(r[3])
-- The same attempt means the same call, repeated by a client without a reply, even if another
-- message has the id now.
local same = has_attempt(r[4], attempt_in(charge))
if same or state == CANCELLED then return {ALLOWED, now, stood, 0, same and 0 or REPLAYED, 0} end
if id_is_free(state) then
  -- The record of a message that is not over never expires. If it was lost, nobody owns the place.
  local lost = redis.call('EXISTS', record) == 0 and tonumber(redis.call('ZSCORE', timeline, id) or now) > now
  if lost then remove_place(id) end
  return {NOT_FOUND, now, 0, 0}
end
if state ~= PENDING or has_reached(r[8]) then return {TOO_LATE, now, stood, 0} end
if not is_as(r[4], stood, former_attempt, ARGV[7]) then return {CHANGED, now, stood, 0} end
local answer = outside(stood)
if answer then return answer end

redis.call('HDEL', record, 'b') -- a script that first removes may write in a full store
-- A retried dead letter may have a place in the future, at which it can't have arrived.
if r[9] and not r[5] and stood <= now then keep_former_place(r[6], stood + ARGV[3]) end
local fields = {'s', ARGV[9] == '' and CANCELLED or DROPPED, 'e', now}
if ARGV[9] ~= '' then fields[5], fields[6] = 'w', ARGV[9] end
if charge ~= '' then fields[#fields + 1], fields[#fields + 2] = 'y', charged_on(r[4]) end
redis.call('HSET', record, unpack(fields))
erase_content(record, {'a'})
redis.call('PEXPIRE', record, ARGV[5])
remove_place(id, r[5], r[6])
note_ended(KEYS[3], record, id, stood, ARGV[5])
note_event(ARGV[8], record, nil, string.match(timeline, '^[^}]*}:u:(.*)$'), id,
  ARGV[9] == '' and 'cancelled' or 'dropped', stood, nil, ARGV[9])
remove_entry(string.sub(ARGV[4], 1, 1), r[2] .. string.sub(ARGV[4], 2)) -- last, see message/mend.lua
return {ALLOWED, now, stood, 0, SUPERSEDED, 0, r[2], tonumber(r[7]) or stood}
