-- place/times.lua: returns the send times of a user's places in a span, ascending. Writes nothing.
--
-- It leaves out places that no rule and no bound of a day counts any more.
--
-- KEYS[1]  places of the user: the timeline, those of a category, or those beside it
--          (ZSET: message id -> send time, Unix ms)
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  start of the span, or where a former call stopped, Unix ms
-- ARGV[5]  how many places at the time ARGV[4] former calls have read
-- ARGV[6]  end of the span, Unix ms, exclusive
-- ARGV[7]  id of a message whose place is left out; "" for none
--
-- Returns  {now, where the next call continues or 0, how many places at that time were
--          read, time, ...}; or {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     O(log n + k) in the n places, k of them read: at most READ.

if #KEYS ~= 2 or #ARGV ~= 7 then
  return redis.error_reply('ERR place/times.lua: wrong number of keys or arguments')
end
--@include moving

local READ = 2000 -- places that one call reads
--@include clock
--@include judge/policy
local from, till, left_out = tonumber(ARGV[4]), tonumber(ARGV[6]), ARGV[7]
--@include settings_status
--@include settings

local changed = settings_changed(KEYS[2])
if changed then return changed end

local start, same = math.max(from, math.min(now - keep, bounded_since)), 0
if start == from then same = tonumber(ARGV[5]) end
-- By rank: this skips the places of the same time that were read before.
local rank = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. string.format('%.0f', start)) + same
local beyond = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. string.format('%.0f', till))
local last_rank = math.min(rank + READ, beyond) - 1
local read = last_rank >= rank and redis.call('ZRANGE', KEYS[1], rank, last_rank, 'WITHSCORES') or {}
local reply, last = {now, 0, 0}, start
for k = 2, #read, 2 do
  local time = tonumber(read[k])
  if time == last then same = same + 1 else last, same = time, 1 end
  if read[k - 1] ~= left_out then reply[#reply + 1] = time end
end
if rank + READ < beyond then reply[2], reply[3] = last, same end
return reply
