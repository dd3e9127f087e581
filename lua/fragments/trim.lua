-- trim: removes the places up to a time, except those of open messages, which are found by their
-- places. Keys of the user's records differ only in the message id.
local AT_ONCE = 64 -- places checked in a call; later calls do the rest
local function trim(oldest, places)
  local old = redis.call('ZRANGE', places, '-inf', oldest, 'BYSCORE', 'LIMIT', 0, AT_ONCE)
  if not record then
    if #old > 0 then redis.call('ZREM', places, unpack(old)) end
    return
  end
  local records, ended = string.sub(record, 1, #record - #id), {}
  for k = 1, #old do
    local r = redis.call('HMGET', records .. string.gsub(old[k], ':', '/'), 's', 'g')
    if not r[2] or r[1] and r[1] ~= 's' then ended[#ended + 1] = old[k] end
  end
  if #ended > 0 then redis.call('ZREM', places, unpack(ended)) end
end
