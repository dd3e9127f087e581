-- count/add_once.lua: adds to the numbers of some hashes, once for each call.
--
-- KEYS[1]  calls (STRING: the tokens of the last calls, each followed by a space)
-- KEYS[2..] numbers (HASH: name -> count)
-- ARGV[1]  token of this call, 1 to 16 characters without spaces
-- ARGV[2]  how many characters of tokens to remember
-- ARGV[3..] for each of the numbers, JSON: an array of their expiry, Unix ms, and the counts to
--          add, an object
--
-- Returns  1 added; 0 a call with the same token added it before.
-- Cost     O(n) in the counts to add.

if #KEYS < 2 or #ARGV ~= #KEYS + 1 then
  return redis.error_reply('ERR count/add_once.lua: wrong number of keys or arguments')
end

local calls, token = KEYS[1], ARGV[1]
local numbers, additions = {unpack(KEYS, 2)}, {unpack(ARGV, 3)}

local remembered = table.concat({' ', redis.call('GET', calls) or ''})
if string.find(remembered, table.concat({' ', token, ' '}), 1, true) then return 0 end
local last = 0
for k, addition in ipairs(additions) do
  additions[k] = cjson.decode(addition)
  last = math.max(last, additions[k][1])
end

redis.call('SET', calls, string.sub(table.concat({token, remembered}), 1, tonumber(ARGV[2])), 'PXAT', last)
for k, key in ipairs(numbers) do
  for name, count in pairs(additions[k][2]) do redis.call('HINCRBY', key, name, count) end
  redis.call('PEXPIREAT', key, additions[k][1])
end
return 1
