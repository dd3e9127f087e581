-- channel/take_probe.lua: gives one worker the turn to probe a stopped channel.
--
-- KEYS[1]  states of the channels (HASH, see keyspace.Stopped)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  channel
-- ARGV[3]  from the stop to the first turn, ms
-- ARGV[4]  from one turn to the next, ms, also if the channel ran meanwhile
--
-- Returns  {1, time of the next turn} the caller has the turn;
--          {0, time of the next turn} another one has it; {0, 0} the channel is not stopped.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR channel/take_probe.lua: wrong number of keys or arguments')
end
--@include clock
local known = redis.call('HMGET', KEYS[1], ARGV[2] .. ' stopped', ARGV[2] .. ' probe')
if not known[1] then return {0, 0} end
local at = math.max(tonumber(known[2]) or 0, (tonumber(string.match(known[1], '^%d+')) or 0) + ARGV[3])
-- A turn further away was given while the clock was ahead.
if now < at and at <= now + ARGV[4] then return {0, at} end
at = now + ARGV[4]
redis.call('HSET', KEYS[1], ARGV[2] .. ' probe', at)
return {1, at}
