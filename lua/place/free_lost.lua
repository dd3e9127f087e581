-- place/free_lost.lua: frees places whose messages have no record, and corrects others.
--
-- The record of a message does not expire before its send time. If it is missing, it was lost, and
-- nothing will ever give the place back. A place within a minute from now or in the past stays: its
-- message may have been sent.
--
-- A log that is torn within a script may leave a place whose message ended without one, or has its
-- place in another set: it is freed. A place at another time than its message gets that time. A set
-- without an expiry gets one.
--
-- KEYS[1]  places of a user (ZSET: message id -> send time, Unix ms): the timeline, the places
--          beside it, or the set of a category, see fragments/places.lua
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  start of the keys of the user's records
-- ARGV[3]  how many later places earlier calls checked and left
--
-- Returns  {places freed, places that were checked and left, 1 if these were all, else 0,
--          messages without a record whose place was freed, 0 for the set of a category}
-- Cost     O(log n + ARGV[3]) in the user's n places, and a look at PAGE records.

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR place/free_lost.lua: wrong number of keys or arguments')
end
--@include moving

local PAGE = 500
local MARGIN, BACK = 60000, 7200000 -- ms; a check runs about once an hour
local LONGEST = 400 * 86400000 -- ms, longer than any place counts
local places = KEYS[1]
--@include clock
--@include record

local kind, of = string.match(places, '^[^}]*}:(%l):([^:]*)')
local function is_elsewhere(category, beside)
  if kind == 'x' then return not beside end
  return beside or kind == 'c' and category ~= of
end

local page = redis.call('ZRANGE', places, now - BACK, '+inf', 'BYSCORE', 'LIMIT', ARGV[3], PAGE, 'WITHSCORES')
local lost, moved, messages = {}, {}, 0
for k = 1, #page, 2 do
  local r = redis.call('HMGET', ARGV[2] .. string.gsub(page[k], ':', '/'), 's', 'g', 't', 'k', 'z')
  if not r[2] then
    if page[k + 1] - now >= MARGIN then
      lost[#lost + 1] = page[k]
      if kind ~= 'c' then messages = messages + 1 end
    end
  elseif id_is_free(state_of(r[1], r[2])) or is_elsewhere(r[4], r[5]) then
    lost[#lost + 1] = page[k]
  elseif r[3] and tonumber(r[3]) ~= tonumber(page[k + 1]) then
    moved[#moved + 1], moved[#moved + 2] = r[3], page[k]
  end
end
if #lost > 0 then redis.call('ZREM', places, unpack(lost)) end
if #moved > 0 then redis.call('ZADD', places, unpack(moved)) end
if #page > 0 and redis.call('PEXPIRETIME', places) == -1 then
  redis.call('PEXPIREAT', places, page[#page] + LONGEST)
end
return {#lost, #page / 2 - #lost, #page < 2 * PAGE and 1 or 0, messages}
