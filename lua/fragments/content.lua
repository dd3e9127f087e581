-- content: joins and erases the content of a message.
--
-- A content of up to 512 bytes is in the fields c, 1, 2 and so on up to 7, each of 64
-- bytes but the last: a longer value would take the record out of the compact encoding
-- of Redis. A longer content is in c alone, see sendlimit/keyspace/content.go.
--@include replace

-- join_content joins the value of c with those of 1 to 7, which begin at values[from].
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

-- write_anew writes a record anew that has no long value any more: a hash that had one
-- keeps its larger encoding. The record must not have an expiry.
local function write_anew(record)
  replace_record(record, redis.call('HGETALL', record))
end
