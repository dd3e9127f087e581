-- overdue: finds the older late messages for which a message on time has to wait.
--
-- A message that was late before has a later place. If an older one's task is lost, the younger one
-- would be sent first, at its place. An older message that was never late does not matter: it was
-- judged together with the younger one.
--
-- Needs the locals of message/claim.lua.
--@include id_order
--@include waiting
local ended_since = {} -- members of waiting whose messages no longer wait

-- overdue_before returns the categories of messages that were promised earlier, were late before
-- and are late again, false for no category; nil if there are none. A message that was tried, may
-- have arrived, is paused, or will be dropped by its claim delays none.
local function overdue_before()
  local seen = call('ZRANGE', waiting, '-inf', promised, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
  local members, ids, categories, found = {}, {}, {}, nil
  for k = 1, #seen, 2 do
    local other, category = waiting_in(seen[k])
    local time = tonumber(seen[k + 1])
    if other ~= id and (time < promised or id_at_or_before(other, id)) then
      local n = #ids + 1
      members[n], ids[n], categories[n] = seen[k], other, category
    end
  end
  if #ids == 0 then return nil end
  local places, is_found = call('ZMSCORE', timeline, unpack(ids)), {}
  for k = 1, #ids do
    local stands, category = tonumber(places[k]), categories[k]
    if not is_found[category] and (not stands or stands < now - tolerance) then
      local key = records .. string.gsub(ids[k], ':', '/')
      local f = call('HMGET', key, 's', 'g', 'p', 'a', 'n', 'x', 'k', 'q', 'C', 'y')
      local is = state_of(f[1], f[2])
      if not f[3] or f[7] ~= category or is ~= PENDING and is ~= SENDING then
        ended_since[#ended_since + 1] = members[k]
      elseif is == PENDING and stands and stands >= (due_since or stands) and not f[4]
          and tonumber(f[5] or 0) == 0 and now < (tonumber(f[6]) or f[3] + expire_after)
          and not f[8] and not switched_off(own_settings, ARGV[2], category) and not is_paused(f[9], f[10]) then
        found, is_found[category] = found or {}, true
        found[#found + 1] = category
      end
    end
  end
  return found
end
