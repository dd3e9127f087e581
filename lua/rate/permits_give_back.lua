-- rate/permits_give_back.lua: gives the permits of one call back before their time.
--
-- KEYS[1]  permits taken overall (ZSET: "token/1", "token/2" ... -> when taken, Unix ms)
-- KEYS[2]  permits taken by this client (the same)
-- ARGV[1]  token of the call that took them
--
-- Returns  how many permits it gave back; 0 if they were free already.
-- Cost     O(n log m) in these permits and all that are taken.

if #KEYS ~= 2 or #ARGV ~= 1 then
  return redis.error_reply('ERR rate/permits_give_back.lua: wrong number of keys or arguments')
end

-- The rate may have changed from overall to each client since, or back.
local given = 0
for _, taken in ipairs({KEYS[1], KEYS[2]}) do
  local i = 1
  while redis.call('ZREM', taken, table.concat({ARGV[1], i}, '/')) == 1 do i = i + 1 end
  given = given + i - 1
end
return given
