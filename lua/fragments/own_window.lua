-- own_window: how long places count under a user's own rules, which may return. Fields of the
-- user's settings:
--
--   own   how long places count under the present ones, ms; absent without any
--   kept  how long places counted under former ones, ms, and the time until which such places
--         still matter, Unix ms: "2592060000 1795792846230"

-- note_own records how long places count from now on, 0 without own rules. It returns the time
-- until which the places of former rules matter, or nil.
local function note_own(settings, own)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local was = tonumber(redis.call('HGET', settings, 'own') or 0)
  local kept, till = string.match(redis.call('HGET', settings, 'kept') or '0 0', '^(%d+) (%d+)$')
  kept, till = tonumber(kept), tonumber(till)
  if till <= now then kept, till = 0, 0 end
  if was > own then kept, till = math.max(kept, was), math.max(till, now + was) end
  if own > 0 then
    redis.call('HSET', settings, 'own', string.format('%.0f', own))
  else
    redis.call('HDEL', settings, 'own')
  end
  if till == 0 then
    redis.call('HDEL', settings, 'kept')
    return nil
  end
  redis.call('HSET', settings, 'kept', table.concat({string.format('%.0f', kept), ' ', string.format('%.0f', till)}))
  return till
end
