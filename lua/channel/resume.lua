-- channel/resume.lua: resumes a stopped channel.
--
-- KEYS[1]  states of the channels (HASH, see keyspace.Stopped)
-- ARGV[1]  channel
-- ARGV[2]  time of the stop that the caller knows, Unix ms: a later stop stays; "" for any
--
-- Returns  1 resumed; 0 it is not stopped, or was stopped at another time.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR channel/resume.lua: wrong number of keys or arguments')
end
local known = redis.call('HGET', KEYS[1], ARGV[1] .. ' stopped')
if not known or ARGV[2] ~= '' and string.match(known, '^%d+') ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1] .. ' stopped')
return 1
