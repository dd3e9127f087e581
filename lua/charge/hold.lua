-- charge/hold.lua: charges an account, or a throttle, for messages that are about to be
-- accepted, moved or cancelled.
--
-- The charge is a hold until it is known whether the change was made. The holds of a call
-- are judged in their order, each beside those before it. The script first settles the
-- holds of ARGV[10]: what they give back is free for these. A repeated call with the same
-- attempts returns the first answers and charges nothing.
--
-- KEYS[1]  holds of the partition (ZSET: attempt -> when to look, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "sl:{p0042}:", the start of the keys of the account's partition
-- ARGV[3]  account, or "~" and the name of a throttle, whose period is the hour below
-- ARGV[4]  limit of an hour; "" for none
-- ARGV[5]  limit of a day; "" for none
-- ARGV[6]  percents of the day's limit that raise an alert, "80,100"; "." for none
-- ARGV[7]  details of the alert, JSON without spaces; "." for none
-- ARGV[8]  how long a change may take, ms
-- ARGV[9]  how long after that a worker checks what became of it, ms
-- ARGV[10] attempts of holds whose changes were made, separated by spaces
-- ARGV[11] how far the clock of the server that has the users is ahead of this one's, ms
-- ARGV[12..] for each hold its attempt, with which of its holds it is, and its words, "." for
--            none. No two attempts are the same. The words are:
--            1 if the send time is now: its hour must be the present one; else 0
--            start and end of the send time's hour, Unix ms; none for a release
--            counters to charge: "hd", "h" of the hour, "d" of the day
--            start and end of the send time's day, Unix ms; none for a release
--            start of the hour and of the day to give back once the change is made
--            message id
--            user, which may have spaces
--
-- Returns  {now, {ids of notices raised}, and for each hold four ...}. This now and the times
--          are by the clock of the users' server. The four are
--          HELD, until when the change may be made, what the day is charged with this, 0;
--          the third is -1 if the day is not charged or the call is repeated
--          EXCEEDED, its count, what the day is charged or -1 as above, 1 if it is the hour
--          or 2 if it is the day that is full; of both, the one that ends last
--          OUTSIDE, 0, 0, 0  the hour is over, or is not the present one
--          OVER, 0, 0, 0     the attempt was settled before
-- Cost     O(log n) in the partition's holds, for each attempt.

if #KEYS ~= 1 or not ARGV[12] or #ARGV % 2 == 0 then
  return redis.error_reply('ERR charge/hold.lua: wrong number of keys or arguments')
end
--@include moving

local holds, prefix, account = KEYS[1], ARGV[2], ARGV[3]
local HELD, EXCEEDED, OUTSIDE, OVER = 0, 1, 2, 3
--@include clock
--@include alert
--@include charge

local hour_limit, day_limit = tonumber(ARGV[4]) or math.huge, tonumber(ARGV[5]) or math.huge
local WORDS = '^(%d) (%S+) (%S+) (%S+) (%S+) (%S+) '
local attempts, keys = {}, {}
for k = 12, #ARGV, 2 do
  local attempt = ARGV[k]
  attempts[#attempts + 1], keys[#keys + 1] = attempt, prefix .. 'h:' .. attempt
end

-- The change is made on the users' server: its clock judges, and says until when.
local there = now + ARGV[11]
local answers = {there, {}}
local function answer(i, status, a, b, c)
  local at = 4 * i
  answers[at - 1], answers[at], answers[at + 1], answers[at + 2] = status, a or 0, b or 0, c or 0
end

-- A hold that a call before made has its answer, and so has one whose hour is not right.
local asked, hours, days, used = {}, {}, {}, new_counts()
local hours_key, days_key = prefix .. 'q:' .. account .. ':h:', prefix .. 'q:' .. account .. ':d:'
local before = redis.call('MGET', unpack(keys))
for i = 1, #keys do
  local present, hour, hour_ends, charged, day, day_ends = string.match(ARGV[11 + 2 * i], WORDS)
  if not present then return redis.error_reply('ERR charge/hold.lua: a hold does not have its words') end
  local ends = tonumber(hour_ends)
  if before[i] == SETTLED then
    answer(i, OVER)
  elseif before[i] then
    answer(i, HELD, not_after_of(before[i]), -1)
  elseif ends and (there >= ends or present == '1' and there < tonumber(hour)) then
    answer(i, OUTSIDE)
  else
    answer(i, HELD)
    asked[#asked + 1] = i
    hours[i] = (charged == 'hd' or charged == 'h') and used.add(hours_key .. hour, ends)
    days[i] = (charged == 'hd' or charged == 'd') and used.add(days_key .. day, tonumber(day_ends))
  end
end
if not asked[1] then return answers end
if ARGV[10] ~= '' then answers[2] = settle_holds(holds, ARGV[10], '') end
used.read()

local not_after = there + ARGV[8]
local look = whole(now + ARGV[8] + ARGV[9])
local limit = ARGV[5]
if limit == '' then limit = ARGV[4] ~= '' and string.byte(account) ~= 126 and 'h' .. ARGV[4] or '.' end -- 126 is "~"
local beginning = table.concat({whole(not_after), account, limit, ARGV[6], ARGV[7], ''}, ' ')
local made, looks = {}, {}
for n = 1, #asked do
  local i = asked[n]
  local hour, day, words = hours[i], days[i], ARGV[11 + 2 * i]
  local hour_full, day_full = hour and hour.count >= hour_limit, day and day.count >= day_limit
  if day_full and not (hour_full and hour.till >= day.till) then
    answer(i, EXCEEDED, day.count, day.count, 2)
  elseif hour_full then
    answer(i, EXCEEDED, hour.count, day and day.count or -1, 1)
  else
    if hour then hour.count = hour.count + 1 end
    if day then day.count = day.count + 1 end
    answer(i, HELD, not_after, day and day.count or -1)
    made[#made + 1], looks[#looks + 1] = keys[i], look
    made[#made + 1], looks[#looks + 1] = beginning .. words, attempts[i]
  end
end
if not made[1] then return answers end

redis.call('ZADD', holds, unpack(looks)) -- first: a worker looks at what is charged
used.write(made)
return answers
