-- charge/change_quota.lua: applies a changed quota to the alerts of a day of an account.
--
-- Under a lower quota it raises the alert that is due. Under a higher one the thresholds of the day
-- raise alerts again. A repeated call raises nothing twice.
--
-- KEYS[1]  charge of the day, without open holds (STRING, see fragments/charge.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "sl:{p0042}:", the start of the keys of the account's partition
-- ARGV[3]  account
-- ARGV[4]  start of the day, Unix ms
-- ARGV[5]  end of the day, Unix ms
-- ARGV[6]  limit of the day; 0 for none
-- ARGV[7]  1 if the quota was raised, else 0
-- ARGV[8]  percents of the limit that raise an alert, "80,100"; "." for none
-- ARGV[9]  details of the alert, JSON; "." for none
--
-- Returns  {now, id of the raised alert, or ""}
-- Cost     O(log n) in the partition's outbox.

if #KEYS ~= 1 or #ARGV ~= 9 then
  return redis.error_reply('ERR charge/change_quota.lua: wrong number of keys or arguments')
end
--@include moving

local prefix, account, day_from, day_until, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
--@include clock
--@include alert

local flag = prefix .. 'alert:a:' .. account .. ':' .. ARGV[4]
if ARGV[7] == '1' and redis.call('EXISTS', flag) == 1 then
  redis.call('SET', flag, '0@' .. whole(limit), 'PXAT', day_until + FLAG_KEPT)
end
local used, percents = tonumber(redis.call('GET', KEYS[1]) or 0), {}
for percent in string.gmatch(ARGV[8], '%d+') do percents[#percents + 1] = tonumber(percent) end
if limit == 0 or used == 0 or #percents == 0 then return {now, ''} end
return {now, raise(prefix, 'account_quota', 'a', account, day_from, day_until, used, limit, percents, ARGV[9]) or ''}
