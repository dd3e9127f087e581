-- device/note_count.lua: stores an account's number of devices in a partition, and ends a hold.
--
-- KEYS[1]  devices of the account (HASH: partition -> number; "all" -> their sum)
-- KEYS[2]  holds of the account (ZSET: "token partition" -> until when, Unix ms)
-- ARGV[1]  partition
-- ARGV[2]  the number of devices
-- ARGV[3]  the hold that ends; "" for none
--
-- Returns  {number of the account's devices}
-- Cost     O(log n) in the holds.

if #KEYS ~= 2 or #ARGV ~= 3 then
  return redis.error_reply('ERR device/note_count.lua: wrong number of keys or arguments')
end
--@include moving

local had = redis.call('HMGET', KEYS[1], ARGV[1], 'all')
local all = math.max(tonumber(had[2] or 0) + ARGV[2] - tonumber(had[1] or 0), 0)
if all == 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], 'all', all)
  if ARGV[2] == '0' then redis.call('HDEL', KEYS[1], ARGV[1]) end
end
if ARGV[3] ~= '' then redis.call('ZREM', KEYS[2], ARGV[3]) end
return {all}
