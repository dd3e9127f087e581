-- message/edit.lua: changes content, metadata and expiry of a pending message.
--
-- Its place stays, and nothing is judged. place/move.lua makes the same edit together with a move.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  late messages of the user that wait (ZSET: see fragments/waiting.lua -> promised time,
--          Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  last expiry that a message may have, ms after now
-- ARGV[3]  expiry of a message without its own, ms after its promised time
-- ARGV[4..] the edit, see fragments/edit.lua
--
-- Returns  {ALLOWED, now, send time, 0, 0, 0}
--          {NOT_FOUND, now, 0, 0}
--          {TOO_LATE, now, send time, 0}          it is being sent, has reached a device, or ended
--          {EDITED, now, send time, 0}            the edit is based on another version
--          {PAST_EXPIRY, now, send time, 0, expiry}  it would expire by its send time
--          {EXPIRES_LATE, now, send time, 0, last expiry}
-- Cost     O(k) in the fields of the content and the metadata.

if #KEYS ~= 3 or #ARGV < 7 or #ARGV % 2 == 0 then
  return redis.error_reply('ERR message/edit.lua: wrong number of keys or arguments')
end
--@include moving

local record, timeline, given = KEYS[1], KEYS[2], {unpack(ARGV, 4)}
local PAST_EXPIRY = 8
--@include clock
--@include status
--@include record
--@include progress
--@include content
--@include metadata
--@include judge/category
--@include places
--@include history
--@include edit

local r = redis.call('HMGET', record, 's', 'g', 't', 'H', 'p', 'x', 'k', 'z', 'D')
local state, at = state_of(r[1], r[2]), tonumber(r[3])
if id_is_free(state) then return {NOT_FOUND, now, 0, 0} end
if state ~= PENDING or has_reached(r[9]) then return {TOO_LATE, now, at, 0} end
if not fits(r[2], r[4]) then return {EDITED, now, at, 0} end
local expiry = edited(tonumber(r[6]))
if edits('expires_at') and expiry then
  if expiry <= at then return {PAST_EXPIRY, now, at, 0, expiry} end
  if expiry > now + ARGV[2] then return {EXPIRES_LATE, now, at, 0, now + ARGV[2]} end
end

make_edit(record)
-- The places last until the message has expired, see fragments/outlive.lua.
local lasts = expiry or tonumber(r[5] or at) + ARGV[3]
local sets = {r[8] and beside or timeline, KEYS[3]}
if r[7] and not r[8] then sets[3] = places_of(r[7]) end
for k = 1, #sets do
  local expires = redis.call('PEXPIRETIME', sets[k])
  if expires >= 0 and expires < lasts then redis.call('PEXPIREAT', sets[k], lasts) end
end
return {ALLOWED, now, at, 0, 0, 0}
