-- owners: reads and writes the owners of an address, see package devices.
--
-- A partition of addresses has a HASH. Its fields are hashes of addresses, and a value has a line
-- "token since account user" for each claim, the oldest first. Since is when it was made, Unix ms;
-- 0 if it is settled. A user "" is nobody.
-- Defines read_owners, write_owners and are_related.

-- read_owners returns the claims of an address, each as {token, since, account, user}.
local function read_owners(key, address)
  local claims = {}
  for line in string.gmatch(redis.call('HGET', key, address) or '', '[^\n]+') do
    claims[#claims + 1] = {string.match(line, '^(%S+) (%d+) (%S*) (.*)$')}
  end
  return claims
end

-- write_owners stores claims as read_owners returns them.
local function write_owners(key, address, claims)
  if #claims == 0 then return redis.call('HDEL', key, address) end
  local lines = {}
  for k, claim in ipairs(claims) do lines[k] = table.concat(claim, ' ') end
  redis.call('HSET', key, address, table.concat(lines, '\n'))
end

-- are_related reports whether devices of two accounts can't have one address. "" is no account.
local function are_related(account, other)
  return account == other or account == '' or other == ''
end
