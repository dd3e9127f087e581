-- refit/refit_turn.lua: takes, keeps or gives back the turn of a refit. Only one
-- program has it at a time.
--
-- KEYS[1]  progress (HASH: version, action, next, notes; owner and until of the turn)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  token of the owner
-- ARGV[3]  how long the turn lasts unless it is kept, ms; 0 gives it back
-- ARGV[4]  version of the policy
-- ARGV[5]  what the refit does with the reservations
-- ARGV[6]  next partition; "" to continue where the last turn of the same version and
--          action ended, or else to begin; "done" removes the progress
-- ARGV[7]  notes for the next turn, such as what was counted; ignored to continue
--
-- Returns  {1, next partition, notes}; {0, how long another owner's turn lasts, ms}.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 7 then
  return redis.error_reply('ERR refit/refit_turn.lua: wrong number of keys or arguments')
end

local KEPT = 30 * 86400000 -- ms that the progress of an abandoned run is kept

--@include clock
local owner, lasts, version, action, next_partition = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local notes = ARGV[7]
local p = redis.call('HMGET', KEYS[1], 'owner', 'until', 'version', 'action', 'next', 'notes')
local another = p[1] and p[1] ~= owner

if next_partition == '' then
  if another and tonumber(p[2]) > now then return {0, p[2] - now} end
  local continues = p[3] == version and p[4] == action
  next_partition = continues and p[5] or '0'
  notes = continues and p[6] or ''
elseif another or not p[1] and next_partition ~= 'done' then
  return {0, math.max((p[2] or now) - now, 0)}
end

if next_partition == 'done' then
  redis.call('DEL', KEYS[1])
  return {1, 0, ''}
end
redis.call('HSET', KEYS[1], 'owner', owner, 'until', now + lasts,
  'version', version, 'action', action, 'next', next_partition, 'notes', notes)
redis.call('PEXPIRE', KEYS[1], KEPT)
return {1, tonumber(next_partition), notes}
