-- notice: puts a notice into the outbox of what is to be announced.
--
-- prefix is "sl:{p0042}:" of the partition whose keys the script has; a notice's
-- id is never used for another. The rest are names and values of its fields.
local function put_notice(prefix, id, ...)
  local notice = prefix .. 'n:' .. id
  if redis.call('EXISTS', notice) == 1 then return end
  redis.call('HSET', notice, ...)
  redis.call('ZADD', prefix .. 'notices', now, id)
end
