-- list.lua: a user's reservations, ascending by send time, then id.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  from when, Unix ms; "" from the oldest remembered
-- ARGV[3]  until when, Unix ms, exclusive; "" to the end
-- ARGV[4]  send time to go on after, Unix ms, with ARGV[5]; "" to start
-- ARGV[5]  id to go on after
-- ARGV[6]  how many at most
-- ARGV[7]  largest window of the rules and the grace, ms: what is older is forgotten
--
-- Returns  {now, id, send time, ...}
-- Cost     O(log n + k) in the user's n reservations, k of them listed.

if #KEYS ~= 1 or #ARGV ~= 7 then
  return redis.error_reply('ERR list.lua: wrong number of keys or arguments')
end

--@include clock
local after_at, after_id = tonumber(ARGV[4]), ARGV[5]
local from = math.max(tonumber(ARGV[2]) or 0, now - ARGV[7], after_at or 0)
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

local reply, listed, skipped = {now}, 0, 0
repeat
  local wanted = limit - listed
  local read = redis.call('ZRANGE', KEYS[1], from, till, 'BYSCORE', 'LIMIT', listed + skipped, wanted, 'WITHSCORES')
  for k = 1, #read, 2 do
    local id, at = read[k], tonumber(read[k + 1])
    if at == after_at and not_after(id, after_id) then
      skipped = skipped + 1
    else
      listed = listed + 1
      reply[2 * listed], reply[2 * listed + 1] = id, at
    end
  end
until listed == limit or #read < 2 * wanted
return reply
