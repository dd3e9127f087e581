-- counters_change: changes counters that fragments/counters.lua has read.
--
-- Needs fragments/counters.lua.

-- charge_counters adds n to each counter of a list that check_counters has read.
local function charge_counters(list, n)
  for i = 1, #list do
    local c = list[i]
    c.used = c.used + n
    if c.length then
      redis.call('HSET', c.key, 'n', c.used, 'f', c.from, 't', c.till)
      redis.call('PEXPIREAT', c.key, c.till)
    else
      redis.call('SET', c.key, c.used, 'PXAT', c.till)
    end
  end
end

-- give_back_counters takes n off each counter of a list that check_counters has read, never below
-- zero. It creates no key. A window that began after now did not count these calls. It reports
-- whether it took something off.
local function give_back_counters(list, n)
  local given = false
  for _, c in ipairs(list) do
    local back = math.min(n, c.used)
    if c.length and now < c.from then back = 0 end
    if back > 0 and c.length then
      redis.call('HINCRBY', c.key, 'n', -back)
    elseif back > 0 then
      redis.call('DECRBY', c.key, back)
    end
    c.used = c.used - back
    given = given or back > 0
  end
  return given
end
