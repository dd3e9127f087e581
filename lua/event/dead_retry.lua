-- event/dead_retry.lua: appends dead events to the events of their account again, oldest first, and
-- removes them from the dead ones.
--
-- KEYS[1]  dead events (STREAM: the fields of an event, x: why, z: when, Unix ms)
-- KEYS[2]  events of the account (STREAM, see fragments/event.lua)
-- KEYS[3]  events gathered for it (HASH: n -> number of appended events)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  id of the only event to retry; "" for the oldest ones
-- ARGV[3]  how many at most
-- ARGV[4]  number of events to keep, about
-- ARGV[5]  how long an event is kept, ms
--
-- Returns  {retried, remaining dead events}
-- Cost     O(n) in the events retried.

if #KEYS ~= 3 or #ARGV ~= 5 then
  return redis.error_reply('ERR event/dead_retry.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
local dead, events, only, kept = KEYS[1], KEYS[2], ARGV[2], tonumber(ARGV[5])
local found
if only ~= '' then
  found = redis.call('XRANGE', dead, only, only, 'COUNT', 1)
else
  found = redis.call('XRANGE', dead, '-', '+', 'COUNT', ARGV[3])
end
for _, entry in ipairs(found) do
  local fields = {}
  for k = 1, #entry[2], 2 do
    local name = entry[2][k]
    if name ~= 'x' and name ~= 'z' then
      fields[#fields + 1], fields[#fields + 2] = name, entry[2][k + 1]
    end
  end
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[4], '*', unpack(fields))
  redis.call('XDEL', dead, entry[1])
end
if #found > 0 then
  redis.call('HINCRBY', KEYS[3], 'n', #found)
  redis.call('PEXPIRE', KEYS[3], 2 * kept)
  redis.call('XTRIM', events, 'MINID', '~', now - kept)
  redis.call('PEXPIRE', events, kept)
end
return {#found, redis.call('XLEN', dead)}
