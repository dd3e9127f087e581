-- rewatch: adds the watch entry of a message that has not ended, if it is missing.
--
-- Scripts write so that this never happens: a new entry comes first, and a former one is removed
-- last. It repairs other losses.

local function is_watched(letter, member)
  return redis.call('ZSCORE', prefix .. 'watch', member) or redis.call('ZSCORE', prefix .. 'far:' .. letter, member)
end

-- rewatch returns whether it added an entry.
local function rewatch(record, letter, suffix, horizon)
  local r = redis.call('HMGET', record, 's', 'g', 't', 'a')
  local state = state_of(r[1], r[2])
  if state ~= PENDING and state ~= SENDING then return false end
  local member = r[2] .. suffix
  if is_watched(letter, member) then return false end
  local due = state == PENDING and tonumber(r[4] or r[3]) or now
  add_entry(letter, due - horizon, 0, member)
  return true
end
