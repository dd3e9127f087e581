-- forecast/count_far.lua: counts the messages in far lists by due time. Writes nothing.
--
-- Within a span of due times, it counts messages that are due by now, those of each of the next 60
-- minutes, including the present one, and the others by the hour. A long list continues in further
-- calls.
--
-- KEYS[1..] far lists of a partition (ZSET: watch member -> when to check, Unix ms)
-- ARGV[1]  now, Unix ms
-- ARGV[2]  horizon, ms: a message is due this much later than its time in the list
-- ARGV[3]  number of the list to begin with, from 1 on
-- ARGV[4]  time in that list to continue from, Unix ms; "" for the begin of the span
-- ARGV[5]  entries to read, about
-- ARGV[6]  begin of the span, included, Unix ms; "" for everything before its end
-- ARGV[7]  end of the span, not included, Unix ms, the begin of an hour; "" for everything
--          after its begin
--
-- Returns  {list, time, entries read, minutes, hours, later}: list and time to continue from, 0
--          at the end. minutes is {number of the minute from the present one on, messages, ...},
--          -1 for messages that are due by now. hours is {number of the hour since 1970,
--          messages, ...}. later is how many messages are due after the span, in the lists that
--          were read to its end.
-- Cost     O(k + b log n) for k entries of the span read, in b hours and minutes with many
--          entries. The entries after the span cost nothing.

if #KEYS < 1 or #ARGV ~= 7 then
  return redis.error_reply('ERR forecast/count_far.lua: wrong number of keys or arguments')
end
--@include moving

local lists, most = {unpack(KEYS, 1)}, tonumber(ARGV[5])
local now, horizon = tonumber(ARGV[1]), tonumber(ARGV[2])
local CHUNK, MINUTE, HOUR = 128, 60000, 3600000 -- a list in the compact encoding is one chunk
local minute = now - now % MINUTE
local minutes, hours, read, later = {}, {}, 0, 0
local begin = ARGV[6] ~= '' and tonumber(ARGV[6]) - horizon or '-inf'
local after = ARGV[7] ~= '' and tonumber(ARGV[7]) - horizon
local last_score = after and '(' .. string.format('%.0f', after) or '+inf'

-- span_of returns the counts for a due time, its number there, and the end of this minute or hour.
local function span_of(due)
  if due < now then return minutes, -1, now end
  local passed = due - minute
  if passed < HOUR then
    passed = (passed - passed % MINUTE) / MINUTE
    return minutes, passed, minute + (passed + 1) * MINUTE
  end
  local start = due - due % HOUR
  return hours, start / HOUR, start + HOUR
end

local function add(due, messages)
  local counts, number = span_of(due)
  counts[number] = (counts[number] or 0) + messages
end

-- read_from counts some entries of a list from a time on, and returns the time to continue from;
-- nil at the end. If it does not reach the end, it counts the last minute or hour without reading
-- all of it.
local function read_from(list, from)
  local found = redis.call('ZRANGE', list, from, last_score, 'BYSCORE', 'LIMIT', 0, CHUNK, 'WITHSCORES')
  local last, on = #found, nil
  read = read + last / 2 + 8
  if last == 2 * CHUNK then
    local _, _, stop = span_of(found[last] + horizon)
    local other
    repeat
      last = last - 2
      if last == 0 then break end
      _, _, other = span_of(found[last] + horizon)
    until other ~= stop
    on = stop - horizon
    local first = found[last + 2] -- of the last minute or hour
    add(first + horizon, redis.call('ZCOUNT', list, first, on - 1))
  elseif after and from == '-inf' then
    later = later + redis.call('ZCARD', list) - last / 2
  elseif after then
    later = later + redis.call('ZCOUNT', list, after, '+inf')
  end
  local e = 2
  while e <= last do -- runs of the same minute or hour
    local counts, number, stop = span_of(found[e] + horizon)
    local first, till = e, stop - horizon
    repeat e = e + 2 until e > last or tonumber(found[e]) >= till
    counts[number] = (counts[number] or 0) + (e - first) / 2
  end
  return on
end

local function pairs_of(counts)
  local flat = {}
  for number, messages in pairs(counts) do
    flat[#flat + 1], flat[#flat + 2] = number, messages
  end
  return flat
end

local from = ARGV[4] ~= '' and tonumber(ARGV[4]) or begin
for l = tonumber(ARGV[3]), #lists do
  while from do
    if read >= most then
      return {l, from == begin and 0 or from, read, pairs_of(minutes), pairs_of(hours), later}
    end
    from = read_from(lists[l], from)
  end
  from = begin
end
return {0, 0, read, pairs_of(minutes), pairs_of(hours), later}
