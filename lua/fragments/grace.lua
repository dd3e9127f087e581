-- grace: the grace period after a lease.
--
-- If the store was unavailable, a delivery could not settle before its lease ended. It may still
-- settle during a grace period, before another delivery takes over. That time is counted in looks:
-- each look shows that the store answered then.
local LOOKS = 4 -- in a grace period

-- grace_until returns when to look again if the former delivery is still in its grace period, else
-- nil. Each call is a look, but looks are at least a part of the grace period apart. The fields
-- `looks` and `last` of the hash `key` have the number of looks and the time of the last one, and
-- `seen` has their values. grace is the grace period, ms; 0 for none.
local function grace_until(key, looks, last, seen, grace)
  local apart = math.floor(grace / LOOKS)
  if apart == 0 then return nil end
  local count, before = tonumber(seen[1] or 0), tonumber(seen[2] or 0)
  if now >= before and now < before + apart then return before + apart end
  if count == LOOKS then return nil end
  redis.call('HSET', key, looks, count + 1, last, now)
  return now + apart
end
