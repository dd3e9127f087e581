-- replace: gives a record other fields, whatever it had.
--
-- It expires in `kept` ms; never without that. One command of the log does it: a log that is torn
-- in a script may be applied up to there, and must not have only the removal of a record.
local function replace_record(record, fields, kept)
  local draft = string.match(record, '^[^}]*}:') .. 'draft'
  redis.call('DEL', draft)
  redis.call('HSET', draft, unpack(fields))
  if kept then redis.call('PEXPIRE', draft, kept) end
  redis.call('COPY', draft, record, 'REPLACE')
  if not kept then redis.call('PERSIST', record) end -- the embedded store leaves the former expiry
  redis.call('DEL', draft)
end
