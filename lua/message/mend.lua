-- message/mend.lua: completes a change of a message that a torn log cut off.
--
-- A Redis that loads a log which is torn within a script may apply the first of its writes, at the
-- next restart. So an end writes the state first, and removes the watch entry last: an entry of an
-- ended message shows that the rest is missing. The end is repeated here. A message that has not
-- ended gets its watch entry if it has none.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  dead letters of the partition (ZSET: dead-letter member -> when it ended, Unix ms)
-- KEYS[4]  ended messages of the user without a place (ZSET: message id -> send time, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  watch word, see fragments/watch.lua
-- ARGV[4]  horizon, ms: how long before its time a message is handed over
-- ARGV[5]  how long to keep the record of an ended message, ms
-- ARGV[6]  how long a place counts: largest window of the rules and the grace, ms
-- ARGV[7]  1 to keep the content of a delivered message, else ""
-- ARGV[8]  accounts with listeners, see fragments/event.lua; "" for none
--
-- Returns  {1} an end was completed, or a watch entry added; {0} nothing was missing.
-- Cost     O(log n) in the user's reservations, the partition's watch list and its dead letters.

if #KEYS ~= 4 or #ARGV ~= 8 then
  return redis.error_reply('ERR message/mend.lua: wrong number of keys or arguments')
end
--@include moving

local record, timeline, dead = KEYS[1], KEYS[2], KEYS[3]
local id, letter, suffix, kept = ARGV[2], string.sub(ARGV[3], 1, 1), string.sub(ARGV[3], 2), tonumber(ARGV[5])
--@include clock
--@include record
--@include ended
--@include dead
--@include content
--@include metadata
--@include judge/category
--@include places
--@include watch
--@include rewatch
--@include event

local r = redis.call('HMGET', record, 's', 'g', 't', 'e', 'w', 'i', 'k', 'z')
local state = state_of(r[1], r[2])
if rewatch(record, letter, suffix, ARGV[4]) then return {1} end
local member = (r[2] or '') .. suffix
if not state or state == PENDING or state == SENDING or not is_watched(letter, member) then return {0} end

local user = string.match(timeline, '^[^}]*}:u:(.*)$')
if state == CANCELLED or state == DROPPED or state == DELIVERED and ARGV[7] == '' then erase_content(record) end
redis.call('HDEL', record, 'a', 'u', 'v', 'l')
if redis.call('PTTL', record) == -1 then
  -- An id must be remembered while its place still counts.
  redis.call('PEXPIRE', record, id_is_free(state) and kept or math.max(kept, r[3] + ARGV[6] - now))
end
if id_is_free(state) then
  remove_place(id, r[8], r[7])
  note_ended(KEYS[4], record, id, r[3], kept)
end
if state == FAILED or state == UNCERTAIN then note_dead(dead, id .. '/' .. user, kept, r[4]) end
local types = {
  [CANCELLED] = 'cancelled', [DELIVERED] = 'delivered', [DROPPED] = 'dropped', [FAILED] = 'failed',
  [UNCERTAIN] = 'uncertain',
}
note_event(ARGV[8], record, nil, user, id, types[state], r[3], nil, state == DELIVERED and r[6] or r[5] or '')
remove_entry(letter, member)
return {1}
