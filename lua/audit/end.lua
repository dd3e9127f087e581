-- audit/end.lua: notes how a change ended, with its entry in the log of changes.
--
-- A change ends once: later calls change nothing. An entry that was erased gets no answer,
-- which may name the user.
--
-- KEYS[1]  the entries (HASH, see audit/begin.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  id of the entry
-- ARGV[3]  outcome
-- ARGV[4]  code, without spaces; "" for none
-- ARGV[5]  answer; "" for none
--
-- Returns  1 noted, 0 it had ended before or there is no such entry.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 5 then
  return redis.error_reply('ERR audit/end.lua: wrong number of keys or arguments')
end
--@include clock
local id, answer = ARGV[2], ARGV[5]
local entry = redis.call('HMGET', KEYS[1], id, id .. ' end')
if not entry[1] or entry[2] then return 0 end
if string.find(entry[1], '"erased":true', 1, true) then answer = '' end
local ended = table.concat({string.format('%.0f', now), ARGV[3], ARGV[4], answer}, ' ')
redis.call('HSET', KEYS[1], id .. ' end', ended)
return 1
