-- charge/hold_look.lua: returns the holds that charged a message's place. Writes nothing.
--
-- It returns the clock of the record's server: changes are made by it.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
--
-- Returns  {now, account and attempts: the field y of the record; "" for none}
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 1 then
  return redis.error_reply('ERR charge/hold_look.lua: wrong number of keys or arguments')
end

--@include clock
local r = redis.call('HMGET', KEYS[1], 'y')
return {now, r[1] or ''}
