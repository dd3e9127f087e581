-- charge: what an account, or a throttle, is charged for a message.
--
-- The charge is a hold until it is known whether the change was made. A hold is a
-- HASH; a field's name is one letter, and an empty field is absent:
--
--   a  account, or "~" and the name of a throttle, whose period is the hour below
--   u  user and
--   i  id of the message
--   n  until when the change may be made, Unix ms
--   h  hour that is charged, its start, Unix ms
--   d  day that is charged, its start, Unix ms
--   H  hour to give back if the change is made, its start, Unix ms
--   D  day to give back if the change is made, its start, Unix ms
--   e  end of the day d, Unix ms
--   l  limit of the day d
--   p  percents of that limit that raise an alert, "80 100"
--   x  details of the alert, JSON
--   s  1, the only field of a settled hold: it stays for a while, so that a hold
--      with the same attempt is not taken a second time
--
-- A counter is a STRING with the key "q:account:unit:start" after the prefix. The
-- units h and d count what is charged in an hour and a day. The unit s counts a day
-- without open holds; alerts go by it.
-- Needs now and prefix, "sl:{p0042}:" of the account's partition.
local COUNTER_KEPT = 3600000 -- ms that a counter stays after its period, for holds settled late
local ATTEMPT_KEPT = 60000 -- ms that a settled hold stays

local function counter_key(account, unit, start)
  return prefix .. 'q:' .. account .. ':' .. unit .. ':' .. start
end

-- give_back takes one off a counter, never below zero. It creates no counter.
local function give_back(account, unit, start)
  if not start then return end
  local key = counter_key(account, unit, start)
  local used = tonumber(redis.call('GET', key) or 0)
  if used > 1 then redis.call('DECR', key) elseif used == 1 then redis.call('DEL', key) end
end

-- settle_hold ends a hold, unless it was settled before. If the change was made, the
-- charge stays and H and D are given back; otherwise the charge is given back. It
-- returns the id of the notice that this raises, if any, and whether the hold was
-- open. It removes before it writes: that works in a full store, too.
local function settle_hold(holds, attempt, change_made)
  local hold = prefix .. 'h:' .. attempt
  local r = redis.call('HMGET', hold, 'a', 'h', 'd', 'H', 'D', 'e', 'l', 'p', 'x')
  redis.call('ZREM', holds, attempt)
  if not r[1] then return nil, false end
  local account, day, ends = r[1], r[3], tonumber(r[6])
  redis.call('DEL', hold)
  redis.call('HSET', hold, 's', 1)
  redis.call('PEXPIRE', hold, ATTEMPT_KEPT)
  if not change_made then
    give_back(account, 'h', r[2])
    give_back(account, 'd', day)
    return nil, true
  end
  give_back(account, 'h', r[4])
  give_back(account, 'd', r[5])
  give_back(account, 's', r[5])
  if not day or now >= ends + COUNTER_KEPT then return nil, true end
  local settled = counter_key(account, 's', day)
  local used = redis.call('INCR', settled)
  redis.call('PEXPIREAT', settled, ends + COUNTER_KEPT)
  if not r[8] then return nil, true end
  local percents = {}
  for percent in string.gmatch(r[8], '%S+') do percents[#percents + 1] = tonumber(percent) end
  local notice = raise(prefix, 'account_quota', 'a', account, day, ends, used, tonumber(r[7]), percents, r[9])
  return notice, true
end
