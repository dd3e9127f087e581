-- trim: forgets the places up to a time, but for those of messages that have
-- not ended: a message is found by its place as long as it is to be sent. The
-- record of another message of the user has a key that differs in the id alone.
local AT_ONCE = 64 -- places looked at; the rest has time
local function trim(oldest, places)
  if not record then return redis.call('ZREMRANGEBYSCORE', places, '-inf', oldest) end
  local old = redis.call('ZRANGE', places, '-inf', oldest, 'BYSCORE', 'LIMIT', 0, AT_ONCE)
  local records, ended = string.sub(record, 1, #record - #id), {}
  for k = 1, #old do
    local r = redis.call('HMGET', records .. string.gsub(old[k], ':', '/'), 's', 'g')
    if not r[2] or r[1] and r[1] ~= 's' then ended[#ended + 1] = old[k] end
  end
  if #ended > 0 then redis.call('ZREM', places, unpack(ended)) end
end
