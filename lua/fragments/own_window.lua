-- own_window: for how long places count by rules of a user's own, which may come back. Fields of
-- the user's settings:
--
--   own   for how long they count by the present ones, ms; absent without any
--   kept  for how long they counted by former ones, ms, and until when such a place still
--         matters, Unix ms: "2592060000 1795792846230"

-- note_own notes for how long places count from now on, 0 without rules of the user's own. It
-- returns until when those of former ones matter, or nil.
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
