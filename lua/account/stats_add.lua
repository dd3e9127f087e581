-- account/stats_add.lua: adds to the numbers of an account's day, once for each call.
--
-- KEYS[1]  numbers of an account and a day (HASH: what is counted -> how often; the
--          field _ holds the tokens of the last calls)
-- ARGV[1]  token of this call, 1 to 16 characters without spaces
-- ARGV[2]  when the numbers expire, Unix ms
-- ARGV[3]  what to add: a JSON object of counts
--
-- Returns  1 added; 0 a call with the same token added it before.
-- Cost     O(n) in the counts to add.

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR account/stats_add.lua: wrong number of keys or arguments')
end

local numbers, token = KEYS[1], ARGV[1]
local REMEMBERED = 512 -- characters, about 40 calls: a repeated one comes soon

local calls = redis.call('HGET', numbers, '_') or ''
for former in string.gmatch(calls, '%S+') do
  if former == token then return 0 end
end
local counts = cjson.decode(ARGV[3])
redis.call('HSET', numbers, '_', string.sub(table.concat({token, calls}, ' '), 1, REMEMBERED))
for name, count in pairs(counts) do redis.call('HINCRBY', numbers, name, count) end
redis.call('PEXPIREAT', numbers, ARGV[2])
return 1
