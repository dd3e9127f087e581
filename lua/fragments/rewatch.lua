-- rewatch: gives a message that has not ended its entry of the watch list, if it has none.
--
-- Scripts write so that this never happens: a new entry comes before what needs it, and a former
-- one goes last. It is for what was lost otherwise. It returns whether it added an entry.
local function rewatch(record, near, far, suffix, horizon)
  local r = redis.call('HMGET', record, 's', 'g', 't', 'a')
  local state = state_of(r[1], r[2])
  if state ~= PENDING and state ~= SENDING then return false end
  local member = r[2] .. suffix
  if redis.call('ZSCORE', near, member) or redis.call('ZSCORE', far, member) then return false end
  local due = state == PENDING and tonumber(r[4] or r[3]) or now
  add_entry(near, far, due - horizon, 0, member)
  return true
end
