-- device/claim.lua: claims an address for a user, or for nobody.
--
-- A claim ends with device/settle_claim.lua. Until then the claims before it stay.
--
-- KEYS[1]  owners of the partition's addresses (HASH), see lua/fragments/owners.lua
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  hash of the address
-- ARGV[3]  token of the claim
-- ARGV[4]  account that registers the device; "" for none
-- ARGV[5]  user
-- ARGV[6]  1 to claim it for the user; 0 to claim it for nobody if the user has the last claim
--
-- Returns  {token of the claim, {token, account, user, ... of the claims before it}}: the list is
--          empty, nothing is written, and the token is that of the user's claim if there is
--          no other one. {"", {}} if the user does not have the last claim.
-- Cost     O(n) in the claims of the address.

if #KEYS ~= 1 or #ARGV ~= 6 then
  return redis.error_reply('ERR device/claim.lua: wrong number of keys or arguments')
end
--@include moving

--@include clock
--@include owners
local token, account, user, takes = ARGV[3], ARGV[4], ARGV[5], ARGV[6] == '1'
local list, before, last, own = {}, {}, nil, nil
for _, claim in ipairs(read_owners(KEYS[1], ARGV[2])) do
  if claim[1] ~= token then -- else the call is repeated
    local related = are_related(claim[3], account)
    if related then last = claim end
    if takes and claim[3] == account and claim[4] == user then
      own = claim
    else
      list[#list + 1] = claim
      if related then
        for _, part in ipairs({claim[1], claim[3], claim[4]}) do before[#before + 1] = part end
      end
    end
  end
end
if takes and own and #before == 0 then return {own[1], {}} end
if not takes and (not last or last[4] ~= user) then return {'', {}} end
list[#list + 1] = {token, now, account, takes and user or ''}
write_owners(KEYS[1], ARGV[2], list)
return {token, before}
