-- audit/erase.lua: replaces an entry in the log of changes by one without a user, and removes its
-- answer.
--
-- KEYS[1]  the entries (HASH, see audit/begin.lua)
-- ARGV[1]  id of the entry
-- ARGV[2]  the new entry
--
-- Returns  1 replaced, 0 there is no such entry.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR audit/erase.lua: wrong number of keys or arguments')
end
local id = ARGV[1]
local entry = redis.call('HMGET', KEYS[1], id, id .. ' end')
if not entry[1] then return 0 end
local fields = {id, ARGV[2]}
if entry[2] then
  -- The time, the outcome and the code stay.
  fields[3], fields[4] = id .. ' end', string.match(entry[2], '^%S+ %S+ %S* ')
end
redis.call('HSET', KEYS[1], unpack(fields))
return 1
