-- notice: puts a notice into the outbox, from where a worker announces it.
--
-- prefix is "sl:{p0042}:" of the partition whose keys the script has. An id belongs
-- to one notice for ever. The rest are names and values of the notice's fields.
local function put_notice(prefix, id, ...)
  local notice = prefix .. 'n:' .. id
  if redis.call('EXISTS', notice) == 1 then return end
  redis.call('ZADD', prefix .. 'notices', now, id) -- first: nobody looks for a notice without it
  redis.call('HSET', notice, ...)
end
