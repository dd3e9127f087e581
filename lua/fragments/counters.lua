-- counters: counts in periods of time, charged all or none.
--
-- A counter is a table:
--   key     where it is counted; of a natural period, a key of that period alone
--   limit   how many its period takes; math.huge for any number
--   from, till   the natural period, half-open, Unix ms; or instead
--   length  how long a window lasts, ms, that begins with its first use
-- Natural periods are kept as a STRING, the count; windows as a HASH: n the
-- count, f and t their begin and end. Both expire with their period, set in the
-- very command or script that counts, so that no key is ever without a TTL.
-- Needs now, Unix ms. A period that has ended by the server's clock is gone.

-- check_counters reads each counter of a list: used, and of a window from and
-- till. It gives the one that refuses n more, nil if all have room: of several
-- the one whose period ends last, since not before then can n be charged.
local function check_counters(list, n)
  local keys = {}
  for i = 1, #list do
    if not list[i].length then keys[#keys + 1] = list[i].key end
  end
  local counts = keys[1] and redis.call('MGET', unpack(keys))
  local refusing, read = nil, 0
  for i = 1, #list do
    local c = list[i]
    if c.length then
      local w = redis.call('HMGET', c.key, 'n', 'f', 't')
      c.used, c.from, c.till = tonumber(w[1]), tonumber(w[2]), tonumber(w[3])
      if not c.till or c.till <= now then c.used, c.from, c.till = 0, now, now + c.length end
    else
      read = read + 1
      c.used = tonumber(counts[read] or 0)
    end
    if c.used + n > c.limit and (not refusing or c.till > refusing.till) then refusing = c end
  end
  return refusing
end

-- charge_counters counts n more in each counter of a list that check_counters
-- has read.
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

-- give_back_counters takes n off each counter of a list that check_counters has
-- read: never below zero, and a key that is not there stays away. A window that
-- began after now has not counted what is given back.
local function give_back_counters(list, n)
  for _, c in ipairs(list) do
    local back = math.min(n, c.used)
    if c.length and now < c.from then back = 0 end
    if back > 0 and c.length then
      redis.call('HINCRBY', c.key, 'n', -back)
    elseif back > 0 then
      redis.call('DECRBY', c.key, back)
    end
    c.used = c.used - back
  end
end
