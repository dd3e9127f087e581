-- message/bring_near.lua: moves entries of far lists to the near list of the watch list.
--
-- It moves entries that are due within NEAR, see fragments/watch.lua. An entry that is in the near
-- list already keeps its time there.
--
-- KEYS[1]  near list of the partition (ZSET: watch member -> when to check, Unix ms)
-- KEYS[2..] its far lists (ZSET, the same)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  entries to move at most, 1 to 1,000
--
-- Returns  {entries moved}: fewer than ARGV[2] if no list has more to move.
-- Cost     O(l + k log n) for l lists and k entries, with n in the partition.

if #KEYS < 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR message/bring_near.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include watch
local most, moved = tonumber(ARGV[2]), 0
for _, far in ipairs({unpack(KEYS, 2)}) do
  if moved == most then break end
  local found = redis.call('ZRANGE', far, '-inf', now + NEAR, 'BYSCORE', 'LIMIT', 0, most - moved, 'WITHSCORES')
  if #found > 0 then
    local entries, members = {'NX'}, {}
    for e = 1, #found, 2 do
      members[#members + 1] = found[e]
      entries[#entries + 1], entries[#entries + 2] = found[e + 1], found[e]
    end
    redis.call('ZADD', KEYS[1], unpack(entries))
    redis.call('ZREM', far, unpack(members))
    moved = moved + #members
  end
end
return {moved}
