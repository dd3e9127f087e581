-- charge/settle_hold.lua: ends the holds of changes that were made, and of changes that will not be
-- made.
--
-- The first call settles a hold. Later calls change nothing.
--
-- KEYS[1]  calls of the partition with open holds (ZSET: call -> when to check, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "sl:{p0042}:", the start of the keys of the account's partition
-- ARGV[3]  holds of changes that were made, separated by spaces: the call, "/", and for each
--          hold the letter of its position in the call, see fragments/charge.lua
-- ARGV[4]  holds of changes that will not be made, as ARGV[3]
--
-- Returns  {made, unmade, now, ids of raised alerts ...}; made and unmade are how many holds of
--          ARGV[3] and ARGV[4] were not settled before.
-- Cost     O(log n) in the partition's calls, for each call, and O(1) for each hold.

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR charge/settle_hold.lua: wrong number of keys or arguments')
end
--@include moving

local prefix = ARGV[2]
--@include clock
--@include alert
--@include charge

local notices, made, unmade = settle_holds(KEYS[1], ARGV[3], ARGV[4])
return {made, unmade, now, unpack(notices)}
