-- channel/stop.lua: stops a channel, or all sending, unless it is stopped already.
--
-- KEYS[1]  states of the channels (HASH, see keyspace.Stopped)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  channel; "" for all sending
-- ARGV[3]  reason, in the form of package channels
--
-- Returns  {1, now} stopped by this call; {0, since when} it was stopped before.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR channel/stop.lua: wrong number of keys or arguments')
end
--@include clock
local known = redis.call('HGET', KEYS[1], ARGV[2] .. ' stopped')
if known then return {0, tonumber(string.match(known, '^%d+')) or 0} end
redis.call('HSET', KEYS[1], ARGV[2] .. ' stopped', table.concat({now, ' ', ARGV[3]}))
return {1, now}
