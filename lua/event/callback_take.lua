-- event/callback_take.lua: gives one worker the turn to post events of an account to its callback.
--
-- The number of appended events shows how many wait, and how many were removed before they were
-- posted: waiting events that are no longer in the stream.
--
-- KEYS[1]  state of the callback (HASH, see fragments/callback.lua)
-- KEYS[2]  events of the account (STREAM, see fragments/event.lua)
-- KEYS[3]  events gathered for it (HASH: n -> number of appended events)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  nonce of this turn
-- ARGV[3]  lease from now on, ms
--
-- Returns  {1, now, cursor, waiting events, failed attempts, failing since or 0, events found
--          lost}: the worker has the turn. A repeated call finds none lost.
--          {0, now, when to check again}: nothing waits (0), another worker has the turn, or
--          the next try is later
--          {-1, now}: there is no state
-- Cost     O(1).

if #KEYS ~= 3 or #ARGV ~= 3 then
  return redis.error_reply('ERR event/callback_take.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include callback

local state, nonce = KEYS[1], ARGV[2]
local r = redis.call('HMGET', state, 'c', 'm', 'o', 'v', 'r', 'a', 'f')
local cursor, passed, holder = r[1], tonumber(r[2]), r[3]
if not cursor then return {-1, now} end
local again = holder == nonce
if not again then
  local till = math.max(tonumber(r[4]) or 0, tonumber(r[5]) or 0)
  if till > now then return {0, now, till} end
end
local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
if not newest or not is_after(newest[1], cursor) then return {0, now, 0} end

local appended = tonumber(redis.call('HGET', KEYS[3], 'n') or 0)
local kept = redis.call('XLEN', KEYS[2])
if appended < passed then passed = 0 end -- the count began again
local lost = math.max(appended - passed - kept, 0)
passed = passed + lost
if lost > 0 then redis.call('HINCRBY', state, 'g', lost) end
redis.call('HSET', state, 'o', nonce, 'v', now + ARGV[3], 'm', passed)
return {1, now, cursor, appended - passed, tonumber(r[6]) or 0, tonumber(r[7]) or 0, lost}
