-- event/callback_settle.lua: records the outcome of a request to the callback of an account, and
-- ends the turn.
--
-- A success moves the cursor to the last posted event. A failure leaves it, but moves the events
-- that are given up to the dead ones, oldest first.
--
-- KEYS[1]  state of the callback (HASH, see fragments/callback.lua)
-- KEYS[2]  events of the account (STREAM, see fragments/event.lua)
-- KEYS[3]  its dead events (STREAM: the fields of an event, x: why, z: when, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  nonce of the turn
-- ARGV[3]  reason of the failure, a word; "" for a success
-- ARGV[4]  how long until the next request, ms
-- ARGV[5]  id of the last event that was posted or is given up; "" for none
-- ARGV[6]  number of these events, at most
-- ARGV[7]  number of dead events to keep, about
-- ARGV[8]  how long dead events are kept, ms
-- ARGV[9]  how long the state is kept, ms
--
-- Returns  {1, now, number of new dead events}
--          {0, now}: another worker has the turn, or the callback was removed
-- Cost     O(1); O(n) in the events given up.

if #KEYS ~= 3 or #ARGV ~= 9 then
  return redis.error_reply('ERR event/callback_settle.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include callback

local state, dead, why, last = KEYS[1], KEYS[3], ARGV[3], ARGV[5]
local r = redis.call('HMGET', state, 'c', 'm', 'o', 'a')
local cursor, passed = r[1], tonumber(r[2])
if not cursor or r[3] ~= ARGV[2] then return {0, now} end

local gone = 0
if why == '' then
  if last ~= '' then
    if is_after(last, cursor) then cursor, passed = last, passed + ARGV[6] end
    redis.call('HSET', state, 's', now)
    redis.call('HDEL', state, 'a', 'f')
  end
else
  if last ~= '' then
    local start = cursor
    local given_up = redis.call('XRANGE', KEYS[2], '(' .. start, last, 'COUNT', ARGV[6])
    for _, entry in ipairs(given_up) do
      local fields = entry[2]
      fields[#fields + 1], fields[#fields + 2] = 'x', why
      fields[#fields + 1], fields[#fields + 2] = 'z', now
      redis.call('XADD', dead, 'MAXLEN', '~', ARGV[7], '*', unpack(fields))
      cursor, gone = entry[1], gone + 1
    end
    if gone > 0 then
      redis.call('XTRIM', dead, 'MINID', '~', now - ARGV[8])
      redis.call('PEXPIRE', dead, ARGV[8])
      passed = passed + gone
    end
  end
  redis.call('HSETNX', state, 'f', now)
  redis.call('HSET', state, 'a', (tonumber(r[4]) or 0) + 1, 'l', now, 'w', why)
end
redis.call('HSET', state, 'c', cursor, 'm', passed, 'r', now + ARGV[4])
redis.call('HDEL', state, 'o', 'v')
redis.call('PEXPIRE', state, ARGV[9])
return {1, now, gone}
