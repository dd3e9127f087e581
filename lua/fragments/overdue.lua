-- overdue: finds the older late messages that a message on time has to wait for.
--
-- A message that was late before has a later place. Should an older one's task be lost, the
-- younger one would go out first, at its place. An older message that was never late is
-- none of these: it was judged together with the younger one.
--
-- Needs the locals of message/claim.lua.
--@include id_order
local ended_since = {} -- ids in KEYS[7] of messages that do not wait any more

-- overdue_before returns the categories of messages that were promised earlier, were late
-- before and are late again, false for no category; nil if there are none. One that was
-- tried, or is paused, holds nothing up. Nor does one that its claim will drop.
local function overdue_before()
  local seen = call('ZRANGE', KEYS[7], '-inf', promised, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
  local ids, found = {}, nil
  for k = 1, #seen, 2 do
    local other = seen[k]
    if other ~= id and (tonumber(seen[k + 1]) < promised or id_at_or_before(other, id)) then ids[#ids + 1] = other end
  end
  if #ids == 0 then return nil end
  local places = call('ZMSCORE', timeline, unpack(ids))
  for k = 1, #ids do
    local other, stands = ids[k], tonumber(places[k])
    if not stands or stands < now - ARGV[17] then
      local f = call('HMGET', records .. string.gsub(other, ':', '/'), 's', 'g', 'p', 'a', 'n', 'x', 'k', 'q', 'C', 'y')
      local is = state_of(f[1], f[2])
      if not f[3] or is ~= PENDING and is ~= SENDING then
        ended_since[#ended_since + 1] = other
      elseif is == PENDING and stands and stands >= (tonumber(ARGV[19]) or stands) and not f[4]
          and tonumber(f[5] or 0) == 0 and now < (tonumber(f[6]) or f[3] + ARGV[16])
          and (f[8] or not opted_out(timeline, ARGV[9], f[7])) and not is_paused(f[9], f[10]) then
        found = found or {}
        found[#found + 1] = f[7]
      end
    end
  end
  return found
end
