-- counters: counts in periods of time. A call charges all of them or none.
--
-- A counter is a table:
--   key     its key; each natural period has its own
--   limit   limit of the period; math.huge for none
--   from, till   the natural period, half-open, Unix ms; or instead
--   length  length of a window that begins with its first use, ms
-- A natural period is a STRING, the count. A window is a HASH: n the count, f and t its begin and
-- end. Both expire with their period. The command or script that counts sets the expiry, so that no
-- key is ever without a TTL. Needs now, Unix ms. A period that has ended by the server's clock is
-- gone. So is a window that begins more than its length ahead of now: a step of the clock put it
-- there.

-- check_counters reads used of each counter in a list, and from and till of each window. It returns
-- the counter that refuses n more, or nil. If several refuse, it returns the one whose period ends
-- last: n cannot be charged before.
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
      if not c.till or c.till <= now or c.from > now + c.length then c.used, c.from, c.till = 0, now, now + c.length end
    else
      read = read + 1
      c.used = tonumber(counts[read] or 0)
    end
    if c.used + n > c.limit and (not refusing or c.till > refusing.till) then refusing = c end
  end
  return refusing
end

-- judge_counters reads the counters of a list. It returns the status of n more, as in
-- count/count.lua, and the deciding counter, if any.
local function judge_counters(list, n)
  local refusing = check_counters(list, n)
  for i = 1, #list do
    if n > list[i].limit then return -1, list[i] end
  end
  return refusing and 0 or 1, refusing
end

-- counters_reply returns the reply of count/count.lua.
local function counters_reply(list, of_event, status, decides, raised)
  local reply = {status, now, decides and decides.index or 0, of_event, raised}
  for i = 1, #list do
    local c = list[i]
    reply[5 + i] = {c.limit, c.period, c.used, c.from, c.till}
  end
  return reply
end
