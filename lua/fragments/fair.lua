-- fair: the fair time after a lease.
--
-- A delivery may not have settled before its lease ended, since the store was away. It
-- may still settle for a fair time, before another delivery takes over. That time is
-- counted in looks: each look shows that the store answered then.
local LOOKS = 4 -- in a fair time

-- fair_until returns when to look again if the former delivery still has its fair time,
-- else nil. Each call is a look, but looks are at least a part of the fair time apart.
-- The fields `looks` and `last` of the hash `key` have the number of looks and the time
-- of the last one, `seen` has their values. fair is the fair time, ms; 0 for none.
local function fair_until(key, looks, last, seen, fair)
  local apart = math.floor(fair / LOOKS)
  if apart == 0 then return nil end
  local count, before = tonumber(seen[1] or 0), tonumber(seen[2] or 0)
  if now >= before and now < before + apart then return before + apart end
  if count == LOOKS then return nil end
  redis.call('HSET', key, looks, count + 1, last, now)
  return now + apart
end
