-- charge/hold.lua: charges an account, or a throttle, for messages that are about to be
-- accepted, moved or cancelled.
--
-- The charge is a hold until the outcome of the change is known. The holds of a call are judged in
-- their order, each together with those before it, and are stored in one key. The script first
-- settles the holds of ARGV[10]: the holds of this call may use what they give back. A repeated
-- call returns the first answers and charges nothing.
--
-- KEYS[1]  calls of the partition with open holds (ZSET: call -> when to check, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "sl:{p0042}:", the start of the keys of the account's partition
-- ARGV[3]  account, or "~" and the name of a throttle, whose period is the hour below
-- ARGV[4]  limit of an hour; "" for none
-- ARGV[5]  limit of a day; "" for none
-- ARGV[6]  percents of the day's limit that raise an alert, "80,100"; "." for none
-- ARGV[7]  details of the alert, JSON without spaces; "." for none
-- ARGV[8]  how long a change may take, ms
-- ARGV[9]  how long after that a worker checks the outcome, ms
-- ARGV[10] holds whose changes were made, as in charge/settle_hold.lua
-- ARGV[11] how far the clock of the users' server is ahead of this one's, ms
-- ARGV[12] the call, a name that no other call has
-- ARGV[13] terms of the holds, separated by ";". Terms are five words, "." for none:
--          counters to charge: "hd", "h" of the hour, "d" of the day
--          start and end of the send time's day, Unix ms; none for a release
--          start of the hour and of the day to give back once the change is made
-- ARGV[14] for each hold, at most 64, the letter of its terms, see fragments/charge.lua
-- ARGV[15] hours of the holds, separated by ";". An hour is three words, "." for none:
--          1 if the send time is now, and the hour must be the present one; else 0
--          start and end of the send time's hour, Unix ms; none for a release
-- ARGV[16] for each hold the letter of its hour
-- ARGV[17] for each hold a line with the message id and the user, which may have spaces
--
-- Returns  {now, {ids of raised alerts}, and for each hold four ...}. This now and the times
--          are by the clock of the users' server. The four are
--          HELD, last time of the change, charge of the day with this hold, 0; the third is -1
--          if the day is not charged or the call is repeated
--          EXCEEDED, its count, charge of the day or -1 as above, 1 if the hour is full or 2
--          if the day is; if both are, the one that ends last
--          OUTSIDE, 0, 0, 0  the hour is over, or is not the present one
--          OVER, 0, 0, 0     the hold was settled before
-- Cost     O(log n) in the partition's calls, and O(1) for each hold.

if #KEYS ~= 1 or #ARGV ~= 17 then
  return redis.error_reply('ERR charge/hold.lua: wrong number of keys or arguments')
end
--@include moving

local holds, prefix, account, call = KEYS[1], ARGV[2], ARGV[3], ARGV[12]
local HELD, EXCEEDED, OUTSIDE, OVER = 0, 1, 2, 3
--@include clock
--@include alert
--@include charge

local hour_limit, day_limit = tonumber(ARGV[4]) or math.huge, tonumber(ARGV[5]) or math.huge
local letters, hours = {string.byte(ARGV[14], 1, -1)}, {string.byte(ARGV[16], 1, -1)}
local key = prefix .. 'h:' .. call

-- The change is made on the users' server, so its clock judges and sets the last time of the
-- change.
local there = now + ARGV[11]
local answers = {there, {}}
local function answer(i, status, a, b, c)
  local at = 4 * i
  answers[at - 1], answers[at], answers[at + 1], answers[at + 2] = status, a or 0, b or 0, c or 0
end

local used, terms_by_letter, hours_by_letter, outside, count = new_counts(), {}, {}, {}, 0
local days_key, hours_key = prefix .. 'q:' .. account .. ':d:', prefix .. 'q:' .. account .. ':h:'
for charged, day, day_ends in string.gmatch(ARGV[13], '([^ ;]+) (%S+) (%S+) %S+ [^;]+') do
  count = count + 1
  terms_by_letter[string.byte(LETTERS, count)] = {
    hour = charged == 'hd' or charged == 'h',
    day = (charged == 'hd' or charged == 'd') and used.add(days_key .. day, tonumber(day_ends)),
  }
end
count = 0
for present, start, ends in string.gmatch(ARGV[15], '(%d) (%S+) ([^;]+)') do
  local till = tonumber(ends)
  count = count + 1
  local letter = string.byte(LETTERS, count)
  outside[letter] = till and (there >= till or present == '1' and there < tonumber(start))
  hours_by_letter[letter] = till and used.add(hours_key .. start, till)
end

-- Holds that the call had before have their answers, and so do holds whose hour is wrong.
local before = redis.call('GET', key) or ''
local stood, not_after = string.match(before, '^(%S+) (%d+)')
local states, asked = {string.byte(stood or '', 1, -1)}, {}
not_after = tonumber(not_after) or there + ARGV[8]
for i = 1, #letters do
  if before == SETTLED or states[i] == ENDED then
    answer(i, OVER)
  elseif states[i] == letters[i] then
    answer(i, HELD, not_after, -1)
  else
    states[i] = REFUSED
    if outside[hours[i]] then answer(i, OUTSIDE) else asked[#asked + 1] = i end
  end
end
if not asked[1] then return answers end
if ARGV[10] ~= '' then answers[2] = settle_holds(holds, ARGV[10], '') end
used.read()

local made = false
for n = 1, #asked do
  local i = asked[n]
  local terms = terms_by_letter[letters[i]]
  local hour, day = terms.hour and hours_by_letter[hours[i]], terms.day
  local hour_full, day_full = hour and hour.count >= hour_limit, day and day.count >= day_limit
  if day_full and not (hour_full and hour.till >= day.till) then
    answer(i, EXCEEDED, day.count, day.count, 2)
  elseif hour_full then
    answer(i, EXCEEDED, hour.count, day and day.count or -1, 1)
  else
    if hour then hour.count = hour.count + 1 end
    if day then day.count = day.count + 1 end
    answer(i, HELD, not_after, day and day.count or -1)
    states[i], made = letters[i], true
  end
end
if not made then return answers end

local limit = ARGV[5]
if limit == '' then limit = ARGV[4] ~= '' and string.byte(account) ~= 126 and 'h' .. ARGV[4] or '.' end -- 126 is "~"
redis.call('ZADD', holds, whole(now + ARGV[8] + ARGV[9]), call) -- first: a worker must find the charges
used.write({key, table.concat({string.char(unpack(states)), ' ', whole(not_after), ' ', account, ' ', limit, ' ',
  ARGV[6], ' ', ARGV[7], '\n', ARGV[13], '\n', ARGV[16], ' ', ARGV[15], '\n', ARGV[17]})})
return answers
