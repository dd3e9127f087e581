-- turn/take.lua: gives one of several programs the turn to do some work.
--
-- If a program takes longer than its turn, another one may start too.
--
-- KEYS[1]  end of the turn (STRING: Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  how long the turn lasts from now on, ms
--
-- Returns  {1} the caller has the turn; {0} another program has it.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR turn/take.lua: wrong number of keys or arguments')
end

--@include clock
local lasts = tonumber(ARGV[2])
local left = tonumber(redis.call('GET', KEYS[1]) or now) - now
if left > 0 and left <= lasts then return {0} end -- if it is longer, the clock has stepped
redis.call('SET', KEYS[1], now + lasts, 'PX', 2 * lasts)
return {1}
