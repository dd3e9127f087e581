-- charge/settle_hold.lua: ends the holds of changes that were made, and of changes that
-- will not be made.
--
-- The first call settles a hold. Later calls change nothing.
--
-- KEYS[1]  holds of the partition (ZSET: attempt -> when to look, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "sl:{p0042}:", the start of the keys of the account's partition
-- ARGV[3]  attempts of changes that were made, separated by spaces
-- ARGV[4]  attempts of changes that will not be made, separated by spaces
--
-- Returns  {settled, now, ids of notices raised ...}; settled is how many of the holds
--          were not settled before.
-- Cost     O(log n) in the partition's holds, for each attempt.

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR charge/settle_hold.lua: wrong number of keys or arguments')
end
--@include moving

local prefix = ARGV[2]
--@include clock
--@include alert
--@include charge

local notices, settled = settle_holds(KEYS[1], ARGV[3], ARGV[4])
return {settled, now, unpack(notices)}
