-- replace: replaces all fields of a record.
--
-- It expires in `kept` ms; without that its expiry does not change on the embedded store, so it must
-- have none, or PERSIST must follow. It is one command in the log: a torn log may be
-- applied up to any command of a script, and must not have only the removal of a record.
local function replace_record(record, fields, kept)
  local draft = string.match(record, '^[^}]*}:') .. 'draft'
  redis.call('DEL', draft)
  redis.call('HSET', draft, unpack(fields))
  if kept then redis.call('PEXPIRE', draft, kept) end
  redis.call('COPY', draft, record, 'REPLACE')
  redis.call('DEL', draft)
end
