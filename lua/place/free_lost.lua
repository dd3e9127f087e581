-- place/free_lost.lua: frees places whose messages have no record.
--
-- The record of a message does not expire before its send time. If it is missing, it was
-- lost, and nothing will ever give the place back. A place within a minute from now or in the
-- past stays: its message may have been sent.
--
-- KEYS[1]  places of a user (ZSET: message id -> send time, Unix ms): the timeline, what is
--          beside it, or the set of a category, see fragments/places.lua
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  start of the keys of the user's records
-- ARGV[3]  how many later places earlier calls looked at and left
--
-- Returns  {places freed, places that were looked at and left, 1 if these were all, else 0}
-- Cost     O(log n + ARGV[3]) in the user's n places, and a look at PAGE records.

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR place/free_lost.lua: wrong number of keys or arguments')
end
--@include moving

local PAGE = 500
local MARGIN = 60000
local places = KEYS[1]
--@include clock

local page = redis.call('ZRANGE', places, now + MARGIN, '+inf', 'BYSCORE', 'LIMIT', ARGV[3], PAGE)
local lost = {}
for k = 1, #page do
  if redis.call('EXISTS', ARGV[2] .. string.gsub(page[k], ':', '/')) == 0 then lost[#lost + 1] = page[k] end
end
if #lost > 0 then redis.call('ZREM', places, unpack(lost)) end
return {#lost, #page - #lost, #page < PAGE and 1 or 0}
