-- account/remove_tier.lua: removes a tier that no account has.
--
-- KEYS[1]  accounts (HASH: name -> account, JSON)
-- KEYS[2]  tiers (HASH: name -> tier, JSON)
-- ARGV[1]  name of the tier
--
-- Returns  {1, ""} removed; {0, ""} there is no such tier; {-1, account} this account has it.
-- Cost     O(n) in all accounts.

if #KEYS ~= 2 or #ARGV ~= 1 then
  return redis.error_reply('ERR account/remove_tier.lua: wrong number of keys or arguments')
end

local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if cjson.decode(all[i + 1]).tier == ARGV[1] then return {-1, all[i]} end
end
return {redis.call('HDEL', KEYS[2], ARGV[1]), ''}
