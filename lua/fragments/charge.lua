-- charge: what an account is charged for a message, and the hold that keeps it
-- until it is known whether the message was accepted.
--
-- A hold is a HASH of short names; a field that would be empty is absent:
--
--   a  account
--   u  user and
--   i  id of the message
--   n  until when the change may be made that it is held for, Unix ms
--   h  hour and
--   d  day that are charged, by their starts, Unix ms
--   H  hour and
--   D  day that are given back if the change is made, by their starts, Unix ms
--   e  end of the day d, Unix ms
--   l  limit of the day d
--   p  percents of it at which an alert is raised, "80 100"
--   x  what else the alert says, JSON
--   s  1 once it is settled, alone: for a while its attempt is remembered, so
--      that a hold that arrives a second time is none
--
-- Counters are "q:account:unit:start" after the prefix, a STRING each: h and d
-- of what is charged in an hour and a day, and s of a day without what is held
-- and may still be given back, which alerts go by.
-- Needs now and prefix, "sl:{p0042}:" of the account's partition.
local COUNTER_KEPT = 3600000 -- ms that a counter outlives its period, for holds that are settled late
local ATTEMPT_KEPT = 60000 -- ms that the attempt of a settled hold is remembered

local function counter_key(account, unit, start)
  return prefix .. 'q:' .. account .. ':' .. unit .. ':' .. start
end

-- give_back takes one off a counter: never below zero, and one that is not there
-- stays away.
local function give_back(account, unit, start)
  if not start then return end
  local key = counter_key(account, unit, start)
  local used = tonumber(redis.call('GET', key) or 0)
  if used > 1 then redis.call('DECR', key) elseif used == 1 then redis.call('DEL', key) end
end

-- settle_hold ends a hold, unless that was done before: where the change was
-- made, the charge stays and what it is in place of is given back; otherwise the
-- charge is. It returns the id of the notice that this raises, if it does, and
-- whether the hold was there. What it removes it removes first: that works in a
-- full store, too.
local function settle_hold(holds, attempt, made)
  local hold = prefix .. 'h:' .. attempt
  local r = redis.call('HMGET', hold, 'a', 'h', 'd', 'H', 'D', 'e', 'l', 'p', 'x')
  redis.call('ZREM', holds, attempt)
  if not r[1] then return nil, false end
  local account, day, ends = r[1], r[3], tonumber(r[6])
  redis.call('DEL', hold)
  redis.call('HSET', hold, 's', 1)
  redis.call('PEXPIRE', hold, ATTEMPT_KEPT)
  if not made then
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
