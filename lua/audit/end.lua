-- audit/end.lua: records how a change ended, in the log of changes.
--
-- A change ends once: later calls change nothing. An erased entry gets no answer, since an answer
-- may name the user.
--
-- A refused change moves from the account's list to the list of its refusals, so that refusals do
-- not push out other entries. Only the first few of a minute are kept; the others are counted at
-- the last of these.
--
-- KEYS[1]  ids of the entries (ZSET, see audit/begin.lua)
-- KEYS[2]  the entries (HASH, see audit/begin.lua)
-- KEYS[3]  ids of the account's entries that were not refused (ZSET: id -> 0)
-- KEYS[4]  ids of the account's refusals (ZSET: id -> 0)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  id of the entry
-- ARGV[3]  outcome
-- ARGV[4]  code, without spaces; "" for none
-- ARGV[5]  answer; "" for none
-- ARGV[6]  how many entries of the account that were not refused are kept; 0 for all
-- ARGV[7]  how many refusals of the account are kept
-- ARGV[8]  how many refusals of a minute are kept, at most ARGV[7]
-- ARGV[9]  how long an entry is kept, ms
--
-- Returns  1 recorded; 0 it had ended before, or there is no such entry.
-- Cost     O(log n) in the n entries, and at most REMOVED that it removes.

if #KEYS ~= 4 or #ARGV ~= 9 then
  return redis.error_reply('ERR audit/end.lua: wrong number of keys or arguments')
end
--@include moving
--@include clock
--@include audit_remove
local ids, entries, own, refusals = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, answer = ARGV[2], ARGV[5]
local entry = redis.call('HMGET', entries, id, id .. ' end')
if not entry[1] or entry[2] then return 0 end
if string.find(entry[1], '"erased":true', 1, true) then answer = '' end

local bounded, most = own, tonumber(ARGV[6])
if ARGV[3] == 'refused' then
  -- The first of the last ARGV[8] refusals that are kept. An id begins with its time.
  local nth = '-' .. ARGV[8]
  local first = redis.call('ZRANGE', refusals, nth, nth)[1]
  if first and string.match(first, '^%d+') + 60000 > tonumber(string.match(id, '^%d+')) then
    remove_entries(entries, ids, own, {id})
    local former = redis.call('ZRANGE', refusals, -1, -1)[1]
    redis.call('HINCRBY', entries, former .. ' more', 1)
    return 1
  end
  bounded, most = refusals, tonumber(ARGV[7])
end
local ended = table.concat({string.format('%.0f', now), ARGV[3], ARGV[4], answer}, ' ')
redis.call('HSET', entries, id .. ' end', ended)
if bounded == refusals then
  redis.call('ZADD', refusals, 0, id)
  redis.call('PEXPIRE', refusals, ARGV[9])
  redis.call('ZREM', own, id)
end
if most > 0 then
  local surplus = math.min(redis.call('ZCARD', bounded) - most, REMOVED)
  if surplus > 0 then remove_entries(entries, ids, bounded, redis.call('ZRANGE', bounded, 0, surplus - 1)) end
end
return 1
