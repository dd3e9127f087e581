-- event/callback_begin.lua: creates the state of an account's callback, unless there is one.
--
-- A worker that does not know yet that a callback was removed may create its state again. So a new
-- callback replaces that state.
--
-- KEYS[1]  state of the callback (HASH, see fragments/callback.lua)
-- KEYS[2]  events of the account (STREAM, see fragments/event.lua)
-- KEYS[3]  events gathered for it (HASH: n -> number of appended events)
-- ARGV[1]  "new": with the events from now on; "kept": with all kept events; "anew": as new,
--          and replaces a state
-- ARGV[2]  how long the state is kept, ms
--
-- Returns  {1} created; {0} there is one.
-- Cost     O(1).

if #KEYS ~= 3 or #ARGV ~= 2 then
  return redis.error_reply('ERR event/callback_begin.lua: wrong number of keys or arguments')
end
--@include moving

local state, cursor = KEYS[1], '0-0'
if ARGV[1] ~= 'anew' and redis.call('HEXISTS', state, 'c') == 1 then return {0} end
local passed = tonumber(redis.call('HGET', KEYS[3], 'n') or 0)
local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
if ARGV[1] ~= 'kept' then
  if newest then cursor = newest[1] end
else
  passed = math.max(passed - redis.call('XLEN', KEYS[2]), 0)
end
redis.call('DEL', state)
redis.call('HSET', state, 'c', cursor, 'm', passed)
redis.call('PEXPIRE', state, ARGV[2])
return {1}
