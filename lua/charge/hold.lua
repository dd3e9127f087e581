-- charge/hold.lua: charges an account, or a throttle, for a message that is about to be
-- accepted, moved or cancelled.
--
-- The charge is a hold until it is known whether the change was made. The script
-- first settles the holds of ARGV[21]: what they give back is free for this one. A
-- repeated call with the same attempt returns the first answer and charges nothing.
--
-- KEYS[1]  holds of the partition (ZSET: attempt -> when to look, Unix ms)
-- KEYS[2]  the hold (HASH, see fragments/charge.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "sl:{p0042}:", the start of the keys of the account's partition
-- ARGV[3]  attempt, with which of its holds it is
-- ARGV[4]  account, or "~" and the name of a throttle, whose period is the hour below
-- ARGV[5]  user
-- ARGV[6]  message id
-- ARGV[7]  counters to charge: "hd", "h" of the hour, "d" of the day, or ""
-- ARGV[8]  start of the send time's hour, Unix ms; "" for a release
-- ARGV[9]  end of that hour, Unix ms; "" for a release
-- ARGV[10] limit of the hour; "" for none
-- ARGV[11] start of the send time's day, Unix ms; "" for a release
-- ARGV[12] end of that day, Unix ms; "" for a release
-- ARGV[13] limit of the day; "" for none
-- ARGV[14] 1 if the send time is now: its hour must be the present one
-- ARGV[15] start of the hour to give back once the change is made, Unix ms; "" for none
-- ARGV[16] start of the day to give back then, Unix ms; "" for none
-- ARGV[17] how long the change may take, ms
-- ARGV[18] how long after that a worker checks what became of it, ms
-- ARGV[19] percents of the day's limit that raise an alert; "" for none
-- ARGV[20] details of the alert, JSON
-- ARGV[21] attempts of holds whose changes were made, separated by spaces
--
-- Returns  {HELD, now, until when the change may be made, what the day is charged with
--          this, ids of notices raised ...}; the fourth is -1 if the day is not charged
--          or the call is repeated
--          {EXCEEDED, now, unit of the full counter, its count, its limit, ids of
--          notices raised ...}; of several full counters, the one whose period ends last
--          {OUTSIDE, now}  the hour is over, or is not the present one
--          {OVER, now}     the attempt was settled before
-- Cost     O(log n) in the partition's holds, for each attempt.

if #KEYS ~= 2 or #ARGV ~= 21 then
  return redis.error_reply('ERR charge/hold.lua: wrong number of keys or arguments')
end
--@include moving

local holds, hold, prefix, account = KEYS[1], KEYS[2], ARGV[2], ARGV[4]
local HELD, EXCEEDED, OUTSIDE, OVER = 0, 1, 2, 3
--@include clock
--@include counters
--@include counters_change
--@include alert
--@include charge

local before = redis.call('HMGET', hold, 'n', 's')
if before[2] then return {OVER, now} end
if before[1] then return {HELD, now, tonumber(before[1]), -1} end
if ARGV[9] ~= '' then
  if now >= tonumber(ARGV[9]) then return {OUTSIDE, now} end
  if ARGV[14] == '1' and now < tonumber(ARGV[8]) then return {OUTSIDE, now} end
end

local notices = {}
for attempt in string.gmatch(ARGV[21], '%S+') do
  local notice = settle_hold(holds, attempt, true)
  if notice then notices[#notices + 1] = notice end
end

local counters = {}
local function add(unit, start, ends, limit)
  counters[#counters + 1] = {unit = unit, key = counter_key(account, unit, start),
    limit = tonumber(limit) or math.huge, till = ends + COUNTER_KEPT}
end
local charges_hour, charges_day = ARGV[7] == 'hd' or ARGV[7] == 'h', ARGV[7] == 'hd' or ARGV[7] == 'd'
if charges_hour then add('h', ARGV[8], ARGV[9], ARGV[10]) end
if charges_day then add('d', ARGV[11], ARGV[12], ARGV[13]) end

local refusing, day_used = check_counters(counters, 1), -1
local reply
if refusing then
  reply = {EXCEEDED, now, refusing.unit, refusing.used, refusing.limit}
else
  local not_after = now + ARGV[17]
  local fields = {'a', account, 'u', ARGV[5], 'i', ARGV[6], 'n', not_after}
  local function note(name, value)
    if value ~= '' then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
  end
  if charges_hour then note('h', ARGV[8]) end
  note('H', ARGV[15])
  note('D', ARGV[16])
  if charges_day then
    note('d', ARGV[11])
    note('e', ARGV[12])
    note('l', ARGV[13])
    note('p', ARGV[19])
    note('x', ARGV[20])
  end
  charge_counters(counters, 1)
  if charges_day then day_used = counters[#counters].used end
  redis.call('HSET', hold, unpack(fields))
  redis.call('ZADD', holds, not_after + ARGV[18], ARGV[3])
  reply = {HELD, now, not_after, day_used}
end
for k = 1, #notices do reply[#reply + 1] = notices[k] end
return reply
