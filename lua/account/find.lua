-- account/find.lua: reads an account with its tier, by its name or by one of its API keys.
--
-- KEYS[1]  accounts (HASH: name -> account, JSON)
-- KEYS[2]  API keys (HASH: SHA-256 of the key, hex -> name of its account)
-- KEYS[3]  tiers (HASH: name -> tier, JSON)
-- ARGV[1]  name of the account; "" to find it by the key
-- ARGV[2]  SHA-256 of the key, hex; "" to find it by the name
--
-- Returns  {now, name, account, tier}. now is the server's clock, Unix ms. name and
--          account are "" if there is no such account. tier is "" if the account has
--          none or the tier does not exist.
-- Cost     O(1).

if #KEYS ~= 3 or #ARGV ~= 2 then
  return redis.error_reply('ERR account/find.lua: wrong number of keys or arguments')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
local name = ARGV[1]
if name == '' then name = redis.call('HGET', KEYS[2], ARGV[2]) or '' end
local account = name ~= '' and redis.call('HGET', KEYS[1], name)
if not account then return {now, '', '', ''} end
local tier = cjson.decode(account).tier
return {now, name, account, tier and redis.call('HGET', KEYS[3], tier) or ''}
