-- charge/settle_hold.lua: ends the hold of a change that was made, or that will not
-- be made.
--
-- The first call settles the hold. Later calls change nothing.
--
-- KEYS[1]  holds of the partition (ZSET: attempt -> when to look, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "sl:{p0042}:", the start of the keys of the account's partition
-- ARGV[3]  attempt
-- ARGV[4]  1 if the change was made, 0 if it will not be made
--
-- Returns  {settled, now, ids of notices raised ...}; settled is 1, or 0 if the hold
--          was settled before.
-- Cost     O(log n) in the partition's holds.

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR charge/settle_hold.lua: wrong number of keys or arguments')
end
--@include moving

local prefix = ARGV[2]
--@include clock
--@include alert
--@include charge

local notice, there = settle_hold(KEYS[1], ARGV[3], ARGV[4] == '1')
return {there and 1 or 0, now, notice}
