-- replace: replaces all fields of a record.
--
-- It expires in `kept` ms; never without that. It is one command in the log: a torn log may be
-- applied up to any command of a script, and must not have only the removal of a record.
local function replace_record(record, fields, kept)
  local draft = string.match(record, '^[^}]*}:') .. 'draft'
  redis.call('DEL', draft)
  redis.call('HSET', draft, unpack(fields))
  if kept then redis.call('PEXPIRE', draft, kept) end
  redis.call('COPY', draft, record, 'REPLACE')
  if not kept then redis.call('PERSIST', record) end -- the embedded store keeps the former expiry
  redis.call('DEL', draft)
end
