-- turn/job.lua: takes, keeps or ends the turn of a long job. Only one program has it at a time. The
-- next one continues with the notes of the last.
--
-- KEYS[1]  the job (HASH: work, notes; owner and until of the turn)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  "take", "keep", or "done": nothing is left to do
-- ARGV[3]  token of the owner
-- ARGV[4]  how long the turn lasts unless it is kept, ms; 0 gives it back
-- ARGV[5]  the work: notes of other work are dropped
-- ARGV[6]  with keep: notes for the next turn, such as the progress
--
-- Returns  {1, notes}; {0, how long another owner's turn lasts, ms}.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 6 then
  return redis.error_reply('ERR turn/job.lua: wrong number of keys or arguments')
end

local KEPT = 30 * 86400000 -- ms that the notes of an abandoned job are kept

--@include clock
local what, owner, lasts, work, notes = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local job = redis.call('HMGET', KEYS[1], 'owner', 'until', 'work', 'notes')
local another, ends = job[1] and job[1] ~= owner, tonumber(job[2] or now)

if what == 'take' then
  if another and ends > now then return {0, ends - now} end
  notes = job[3] == work and job[4] or ''
elseif another or not job[1] and what == 'keep' then
  return {0, math.max(ends - now, 0)}
end

if what == 'done' then
  redis.call('DEL', KEYS[1])
  return {1, ''}
end
redis.call('HSET', KEYS[1], 'owner', owner, 'until', now + lasts, 'work', work, 'notes', notes)
redis.call('PEXPIRE', KEYS[1], KEPT)
return {1, notes}
