-- notice: puts an alert into the outbox, from which a worker delivers it.
--
-- prefix is "sl:{p0042}:" of the partition whose keys the script has. An id never belongs to
-- another alert. The rest are names and values of the alert's fields.
local function put_notice(prefix, id, ...)
  local notice = prefix .. 'n:' .. id
  if redis.call('EXISTS', notice) == 1 then return end
  redis.call('ZADD', prefix .. 'notices', now, id) -- first: an alert without an entry would be lost
  redis.call('HSET', notice, ...)
end
