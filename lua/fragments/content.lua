-- content: joins and erases the content of a message.
--
-- Content of up to 512 bytes is in the fields c, 1, 2 and so on up to 7, with 64 bytes in each
-- except the last: a longer value would prevent Redis' compact encoding of the record. Longer
-- content is only in c, see sendlimit/keyspace/content.go.
--@include replace

-- join_content joins the value of c with the values of 1 to 7, which begin at values[from].
local function join_content(c, values, from)
  local chunks = {c or ''}
  for k = from, from + 6 do
    if not values[k] then break end
    chunks[#chunks + 1] = values[k]
  end
  return table.concat(chunks)
end

-- erase_content erases the content, and other fields in the same call.
local function erase_content(record, others)
  redis.call('HDEL', record, 'c', '1', '2', '3', '4', '5', '6', '7', unpack(others or {}))
end

-- write_anew writes a record again after its long value was removed: otherwise the hash would keep
-- its larger encoding. The record must not have an expiry.
local function write_anew(record)
  replace_record(record, redis.call('HGETALL', record))
end
