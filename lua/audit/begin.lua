-- audit/begin.lua: adds an entry to the log of changes, and removes the oldest.
--
-- The ids ascend in the order of the calls, also if the clock steps back: an id begins with
-- the time, or with that of the entry before if that is later. A repeated call adds nothing.
--
-- KEYS[1]  ids of the entries (ZSET: id -> 0)
-- KEYS[2]  the entries (HASH: id -> what package audit writes; "<id> end" -> see audit/end.lua)
-- KEYS[3]  the id that a call with the same token got (STRING)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  the entry
-- ARGV[3]  how many entries are kept
-- ARGV[4]  how long an entry is kept, ms
--
-- Returns  {id}: the time in ms, "-" and six digits.
-- Cost     O(log n) in the n entries, and at most REMOVED old ones that it removes.

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR audit/begin.lua: wrong number of keys or arguments')
end
--@include moving

local REMOVED = 100 -- entries that one call removes; later calls remove the rest
local REPEATED = 60000 -- ms; for so long a call may be repeated
local NUMBERS = 1000000 -- ids of a millisecond
--@include clock
local ids, entries = KEYS[1], KEYS[2]
local keep = tonumber(ARGV[4])

local before = redis.call('GET', KEYS[3])
if before then return {before} end

local ms, number = now, 0
local last = redis.call('ZRANGE', ids, -1, -1)[1]
if last then
  local last_ms, last_number = string.match(last, '^(%d+)%-(%d+)$')
  if tonumber(last_ms) >= now then
    -- In base 10: the embedded store takes a number that begins with 0 for octal.
    ms, number = tonumber(last_ms), tonumber(last_number, 10) + 1
    if number == NUMBERS then ms, number = ms + 1, 0 end
  end
end
local suffix = string.sub(string.format('%.0f', NUMBERS + number), 2)
local id = string.format('%.0f', ms) .. '-' .. suffix

-- What is too old, and what is too many: both are the first of all.
local old = redis.call('ZRANGE', ids, '-', '(' .. string.format('%.0f', now - keep), 'BYLEX', 'LIMIT', 0, REMOVED)
local surplus = math.min(redis.call('ZCARD', ids) + 1 - ARGV[3], REMOVED)
if surplus > #old then old = redis.call('ZRANGE', ids, 0, surplus - 1) end
local fields = {}
for k = 1, #old do
  local entry_id = old[k]
  fields[2 * k - 1], fields[2 * k] = entry_id, table.concat({entry_id, ' end'})
end
if #old > 0 then
  redis.call('ZREM', ids, unpack(old))
  redis.call('HDEL', entries, unpack(fields))
end
redis.call('ZADD', ids, 0, id)
redis.call('HSET', entries, id, ARGV[2])
redis.call('PEXPIRE', ids, keep)
redis.call('PEXPIRE', entries, keep)
redis.call('SET', KEYS[3], id, 'PX', REPEATED)
return {id}
