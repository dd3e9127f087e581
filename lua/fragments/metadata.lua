-- metadata: reads the metadata of a message, which is in the fields M and N to T, like content in c
-- and 1 to 7, see fragments/content.lua.

-- metadata_of returns the metadata of a record whose field M has the value m; "" for none.
local function metadata_of(record, m)
  if not m then return '' end
  if #m ~= 64 then return m end -- only a full field has a continuation
  return join_content(m, redis.call('HMGET', record, 'N', 'O', 'P', 'Q', 'R', 'S', 'T'), 1)
end
