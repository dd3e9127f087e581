-- audit/begin.lua: adds an entry to the log of changes, and removes entries that are too old.
--
-- The ids ascend in the order of the calls, even if the clock steps back: an id begins with the
-- time, or with the time of the entry before if that is later. A repeated call adds nothing.
--
-- KEYS[1]  ids of the entries (ZSET: id -> 0)
-- KEYS[2]  the entries (HASH: id -> what package audit writes; "<id> end" and "<id> more" -> see
--          audit/end.lua)
-- KEYS[3]  ids of the account's entries (ZSET: id -> 0)
-- KEYS[4]  id for the token of a call, in case it is repeated (STRING)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  the entry
-- ARGV[3]  how long an entry is kept, ms
--
-- Returns  {id}: the time in ms, "-" and six digits.
-- Cost     O(log n) in the n entries, and at most REMOVED old ones that it removes.

if #KEYS ~= 4 or #ARGV ~= 3 then
  return redis.error_reply('ERR audit/begin.lua: wrong number of keys or arguments')
end
--@include moving

local REPEATED = 60000 -- ms within which a call may be repeated
local NUMBERS = 1000000 -- ids of a millisecond
--@include clock
--@include audit_remove
local ids, entries, own = KEYS[1], KEYS[2], KEYS[3]
local keep = tonumber(ARGV[3])

local before = redis.call('GET', KEYS[4])
if before then return {before} end

local ms, number = now, 0
local last = redis.call('ZRANGE', ids, -1, -1)[1]
if last then
  local last_ms, last_number = string.match(last, '^(%d+)%-(%d+)$')
  if tonumber(last_ms) >= now then
    -- In base 10: the embedded store reads a number that begins with 0 as octal.
    ms, number = tonumber(last_ms), tonumber(last_number, 10) + 1
    if number == NUMBERS then ms, number = ms + 1, 0 end
  end
end
local suffix = string.sub(string.format('%.0f', NUMBERS + number), 2)
local id = string.format('%.0f', ms) .. '-' .. suffix

local too_old = '(' .. string.format('%.0f', now - keep)
remove_entries(entries, ids, own, redis.call('ZRANGE', ids, '-', too_old, 'BYLEX', 'LIMIT', 0, REMOVED))
redis.call('ZADD', ids, 0, id)
redis.call('ZADD', own, 0, id)
redis.call('HSET', entries, id, ARGV[2])
redis.call('PEXPIRE', ids, keep)
redis.call('PEXPIRE', own, keep)
redis.call('PEXPIRE', entries, keep)
redis.call('SET', KEYS[4], id, 'PX', REPEATED)
return {id}
