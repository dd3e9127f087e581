-- list.lua: a user's reservations, ascending by send time, then id. What is older
-- than the largest window is left out, but for messages that are still to be sent.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  from when, Unix ms; "" from the oldest remembered
-- ARGV[3]  until when, Unix ms, exclusive; "" to the end
-- ARGV[4]  send time to go on after, Unix ms, with ARGV[5]; "" to start
-- ARGV[5]  id to go on after
-- ARGV[6]  how many at most
-- ARGV[7]  largest window of the rules and the grace, ms: what is older is forgotten
-- ARGV[8]  start of the keys of the user's records, see fragments/record.lua; "" for none
--
-- Returns  {now, send time and id to go on after, id, send time, ...}: 0 and "" to
--          go on after, unless the call's work was used up before the list was.
-- Cost     O(log n + k) in the user's n reservations, k of them listed, and at
--          most LOOKED records.

if #KEYS ~= 1 or #ARGV ~= 8 then
  return redis.error_reply('ERR list.lua: wrong number of keys or arguments')
end

local LOOKED = 1000 -- records looked at in one call
--@include clock
--@include record
local after_at, after_id = tonumber(ARGV[4]), ARGV[5]
local remembered, records = now - ARGV[7], ARGV[8]
local from = math.max(tonumber(ARGV[2]) or 0, after_at or 0)
if records == '' then from = math.max(from, remembered) end
local till = ARGV[3] == '' and '+inf' or tonumber(ARGV[3]) - 1
local limit = tonumber(ARGV[6])

-- not_after compares ids as the sorted set orders them, byte by byte; "<="
-- would go by the server's locale.
local function not_after(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a <= #b
end

local looked = 0
local function is_listed(id, at)
  if at == after_at and not_after(id, after_id) then return false end
  if at >= remembered then return true end
  looked = looked + 1
  local r = redis.call('HMGET', records .. string.gsub(id, ':', '/'), 's', 'g')
  local state = state_of(r[1], r[2])
  return state == PENDING or state == SENDING
end

local reply, listed, passed = {now, 0, ''}, 0, 0
repeat
  local wanted = limit - listed
  local read = redis.call('ZRANGE', KEYS[1], from, till, 'BYSCORE', 'LIMIT', listed + passed, wanted, 'WITHSCORES')
  for k = 1, #read, 2 do
    local id, at = read[k], tonumber(read[k + 1])
    if is_listed(id, at) then
      listed = listed + 1
      reply[2 + 2 * listed], reply[3 + 2 * listed] = id, at
    else
      passed = passed + 1
    end
    if looked == LOOKED then
      reply[2], reply[3] = at, id
      return reply
    end
  end
until listed == limit or #read < 2 * wanted
return reply
