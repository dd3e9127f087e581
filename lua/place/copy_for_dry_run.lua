-- place/copy_for_dry_run.lua: copies a user's timeline and a record for a dry run.
--
-- The dry run judges on the copies: its own earlier messages count, and nothing real changes.
--
-- KEYS[1]  timeline of the user (ZSET)
-- KEYS[2]  its copy
-- KEYS[3]  record of the message (HASH)
-- KEYS[4]  its copy
-- KEYS[5]  near list of the watch list of the copies
-- KEYS[6]  copies in the partition, to be removed (HASH: key -> "" for a whole copy, or the
--          cursor at which the next call continues)
-- KEYS[7]  places beside the copied timeline, see fragments/places.lua; the real ones
--          are not copied, since they do not count
-- KEYS[8]  far list of the message among the copies, see fragments/watch.lua
-- KEYS[9]  set of the message's category, see judge/category.lua (ZSET); optional
-- KEYS[10] its copy; with KEYS[9]
-- ARGV[1]  how long copies stay after their last use if they are not removed, ms
--
-- A large timeline is copied in several calls. The copy may have the former place of a message that
-- is moved or cancelled meanwhile.
--
-- Returns  {1}: everything is copied. {0}: call again.
-- Cost     O(k) in the places that a call copies, about SLICE; O(1) once all are copied.

if #KEYS ~= 8 and #KEYS ~= 10 or #ARGV ~= 1 then
  return redis.error_reply('ERR place/copy_for_dry_run.lua: wrong number of keys or arguments')
end
--@include moving

local SLICE = 500 -- places copied in a call; ZSCAN may return a few more
local left = SLICE

-- copy_places copies places until the copy is whole or the work of the call is used up. It reports
-- whether the copy is whole.
local function copy_places(from, to)
  local cursor = redis.call('HGET', KEYS[6], to)
  if cursor == '' then return true end
  if not cursor and redis.call('ZCARD', from) <= left then
    redis.call('COPY', from, to)
    cursor = '0'
  else
    if left < SLICE then return false end
    local read = redis.call('ZSCAN', from, cursor or '0', 'COUNT', SLICE)
    local places, adding = read[2], {}
    for k = 1, #places, 2 do
      adding[#adding + 1], adding[#adding + 2] = places[k + 1], places[k]
      if #adding == 2 * SLICE or k + 1 == #places then
        -- Changes that the dry run has made stay.
        redis.call('ZADD', to, 'NX', unpack(adding))
        adding = {}
      end
    end
    cursor = read[1]
    left = 0
  end
  redis.call('HSET', KEYS[6], to, cursor == '0' and '' or cursor)
  return cursor == '0'
end

if redis.call('HSETNX', KEYS[6], KEYS[4], '') == 1 then redis.call('COPY', KEYS[3], KEYS[4]) end
local whole = copy_places(KEYS[1], KEYS[2])
if whole and KEYS[9] then whole = copy_places(KEYS[9], KEYS[10]) end
redis.call('HSET', KEYS[6], KEYS[5], '', KEYS[7], '', KEYS[8], '')
local copies = {KEYS[2], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[10]}
for k = 1, #copies do redis.call('PEXPIRE', copies[k], ARGV[1]) end
return {whole and 1 or 0}
