-- event/listen.lua: records until when an account's events have a listener.
--
-- A later recorded time stays. Past entries are removed.
--
-- KEYS[1]  listeners (HASH: account, or "*" for all -> until when, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  account; "*" for all
-- ARGV[3]  until when, Unix ms
--
-- Returns  {until when, Unix ms}
-- Cost     O(n) in the accounts with listeners.

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR event/listen.lua: wrong number of keys or arguments')
end
--@include clock
local listeners, account, till = KEYS[1], ARGV[2], tonumber(ARGV[3])
local known, over, latest = redis.call('HGETALL', listeners), {}, till
for k = 1, #known, 2 do
  local ends = tonumber(known[k + 1])
  if known[k] == account then till = math.max(till, ends) end
  if ends <= now and known[k] ~= account then over[#over + 1] = known[k] end
  latest = math.max(latest, ends)
end
redis.call('HSET', listeners, account, till)
if #over > 0 then redis.call('HDEL', listeners, unpack(over)) end
redis.call('PEXPIREAT', listeners, latest)
return {till}
