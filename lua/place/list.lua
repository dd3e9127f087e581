-- place/list.lua: lists a user's reservations, ascending by send time, then id.
--
-- It leaves out places older than the largest window, unless their messages are still to be sent.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  places of the user that do not count (ZSET: message id -> send time, Unix ms); optional
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  from when, Unix ms; "" for the oldest
-- ARGV[3]  until when, Unix ms, exclusive; "" for no end
-- ARGV[4]  send time to continue after, Unix ms, with ARGV[5]; "" to start
-- ARGV[5]  id to continue after
-- ARGV[6]  maximum number of reservations to list
-- ARGV[7]  how long a place counts: largest window of the rules and the grace, ms
-- ARGV[8]  with KEYS[2]: start of the keys of the user's records, see fragments/record.lua
--
-- Returns  {now, send time and id to continue after, id, send time, ...}. The time and
--          id to continue after are 0 and "" unless the call's work was used up first.
-- Cost     O(log n + k) in the user's n reservations, k of them listed: at most LISTED,
--          and at most LOOKED records.

if not (#KEYS == 1 and #ARGV == 7 or #KEYS == 2 and #ARGV == 8) then
  return redis.error_reply('ERR place/list.lua: wrong number of keys or arguments')
end
--@include moving

local LISTED, LOOKED = 1000, 1000 -- reservations listed, records read, in one call
local PAGE = 250 -- reservations read at once
--@include clock
--@include record
local after_at, after_id = tonumber(ARGV[4]), ARGV[5]
local remembered, records = now - ARGV[7], ARGV[8]
local from = math.max(tonumber(ARGV[2]) or 0, after_at or 0)
if not records then from = math.max(from, remembered) end
local till = ARGV[3] == '' and math.huge or tonumber(ARGV[3]) - 1
local limit = math.min(tonumber(ARGV[6]), LISTED)

--@include rank_behind

local looked = 0
local function is_listed(id, at, counted)
  if counted and at >= remembered then return true end
  looked = looked + 1
  local r = redis.call('HMGET', records .. string.gsub(id, ':', '/'), 's', 'g', 't', 'z')
  local state = state_of(r[1], r[2])
  -- A place may outlive its record, and another message may have the id now.
  if not counted and (not r[4] or tonumber(r[3]) ~= at) then return false end
  return state == PENDING or state == SENDING or at >= remembered
end

local reply, listed = {now, 0, ''}, 0

-- rank_in returns how many places of a list come before those to list.
local function rank_in(key)
  if from == after_at then return rank_behind(key, from, after_id) end
  return redis.call('ZCOUNT', key, '-inf', from - 1)
end

local function list_of(key, counted)
  return {key = key, read = {}, k = 1, rank = key and rank_in(key), more = key ~= nil, counted = counted}
end

-- head returns the first place of a list, nil at its end. It reads more if needed.
local function head(list)
  if list.k > #list.read and list.more then
    local wanted = math.min(limit - listed, PAGE)
    list.read = redis.call('ZRANGE', list.key, list.rank, list.rank + wanted - 1, 'WITHSCORES')
    list.k, list.rank, list.more = 1, list.rank + wanted, #list.read == 2 * wanted
  end
  local at = tonumber(list.read[list.k + 1])
  if not at or at > till then return nil end
  return list.read[list.k], at
end

local timeline, uncounted = list_of(KEYS[1], true), list_of(KEYS[2], false)
while listed < limit do
  local list, id, at = timeline, head(timeline)
  local other, other_at = head(uncounted)
  if not id or other and (other_at < at or other_at == at and id_at_or_before(other, id) and other ~= id) then
    list, id, at = uncounted, other, other_at
  end
  if not id then break end
  list.k = list.k + 2
  -- Skip reservations that were listed before, in the other list too.
  if at ~= after_at or not id_at_or_before(id, after_id) then
    if is_listed(id, at, list.counted) then
      listed = listed + 1
      reply[2 + 2 * listed], reply[3 + 2 * listed] = id, at
    end
    after_at, after_id = at, id
  end
  if looked == LOOKED or listed == LISTED then
    reply[2], reply[3] = at, id
    break
  end
end
return reply
