-- rate/pause.lua: pauses a target, unless it is paused for longer already.
--
-- KEYS[1]  pause (STRING: until when, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how long, ms
-- ARGV[3]  maximum length, ms: a pause that ends later was set by a clock that was ahead
--
-- Returns  {now, until when the target is paused, Unix ms}
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR rate/pause.lua: wrong number of keys or arguments')
end

--@include clock

local known, till = tonumber(redis.call('GET', KEYS[1]) or 0), now + ARGV[2]
if till <= known and known <= now + ARGV[3] then return {now, known} end
redis.call('SET', KEYS[1], till, 'PXAT', till)
return {now, till}
