-- ended: keeps what gave its place back in the list of its user's messages.
--
-- An entry lasts about as long as the record it names: the next ones to be
-- written remove the first that are over, and the whole list expires with the
-- last of them. What is left of a message that was submitted anew is over, too.
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
