-- account/change.lua: stores an account if it has not changed since it was read, and points its API
-- keys to it.
--
-- KEYS[1]  accounts (HASH: name -> account, JSON)
-- KEYS[2]  API keys (HASH: SHA-256 of the key, hex -> name of its account)
-- KEYS[3]  tiers (HASH: name -> tier, JSON)
-- KEYS[4]  accounts with a callback for their events (SET of names)
-- ARGV[1]  name of the account
-- ARGV[2]  the account as it was read, JSON; "" for one that must not exist
-- ARGV[3]  the new account, JSON
-- ARGV[4]  name of its tier, which must exist; "" for none
-- ARGV[5]  SHA-256 of each key to add, hex, a space after each
-- ARGV[6]  SHA-256 of each key to remove, hex, a space after each
-- ARGV[7]  1: the account has a callback
--
-- Returns  {1} stored; {0} the account has changed since it was read; {-1} there is no
--          such tier; {-2} a key to add belongs to another account. A repeated call
--          returns {1}.
-- Cost     O(1) for each key to add or to remove.

if #KEYS ~= 4 or #ARGV ~= 7 then
  return redis.error_reply('ERR account/change.lua: wrong number of keys or arguments')
end

local accounts, keys, tiers = KEYS[1], KEYS[2], KEYS[3]
local present = redis.call('HGET', accounts, ARGV[1]) or ''
if present == ARGV[3] then return {1} end
if present ~= ARGV[2] then return {0} end
if ARGV[4] ~= '' and redis.call('HEXISTS', tiers, ARGV[4]) == 0 then return {-1} end
for hash in string.gmatch(ARGV[5], '%S+') do
  local owner = redis.call('HGET', keys, hash)
  if owner and owner ~= ARGV[1] then return {-2} end
end

redis.call('HSET', accounts, ARGV[1], ARGV[3])
for hash in string.gmatch(ARGV[5], '%S+') do redis.call('HSET', keys, hash, ARGV[1]) end
for hash in string.gmatch(ARGV[6], '%S+') do redis.call('HDEL', keys, hash) end
if ARGV[7] == '1' then
  redis.call('SADD', KEYS[4], ARGV[1])
else
  redis.call('SREM', KEYS[4], ARGV[1])
end
return {1}
