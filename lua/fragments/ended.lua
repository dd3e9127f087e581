-- ended: lists a user's messages that ended and gave their places back.
--
-- An entry is kept about as long as its record. Writing an entry removes the oldest two if they are
-- stale: the record expired, or the id was submitted again. The whole list expires with its last
-- entry.
local function note_ended(ended, record, id, at, kept)
  local records = string.sub(record, 1, #record - #id)
  local oldest = redis.call('ZRANGE', ended, 0, 1)
  for k = 1, #oldest do
    local other = oldest[k]
    local s = redis.call('HGET', records .. string.gsub(other, ':', '/'), 's')
    if not s or not id_is_free(s) then redis.call('ZREM', ended, other) end
  end
  redis.call('ZADD', ended, at, id)
  redis.call('PEXPIRE', ended, kept)
end
