-- device/settle_claim.lua: settles a claim of an address, or withdraws it.
--
-- A claim is settled after the address was taken from the users of the claims before it. Those
-- that are settled are removed. The program of another one may still run, and register the device:
-- such a claim stays for a minute, so that the next one takes the address from it too.
--
-- KEYS[1]  owners of the partition's addresses (HASH), see lua/fragments/owners.lua
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  hash of the address
-- ARGV[3]  token of the claim, see device/claim.lua
-- ARGV[4]  1 to settle it; 0 to withdraw it
-- ARGV[5..]  tokens of the claims before it
--
-- Returns  {1} done; {0} nothing is done: there is a newer claim, or this one is gone.
-- Cost     O(n) in the claims of the address.

if #KEYS ~= 1 or #ARGV < 4 then
  return redis.error_reply('ERR device/settle_claim.lua: wrong number of keys or arguments')
end
--@include moving

local RUNS = 60000 -- ms that the program of a claim runs, at most

--@include clock
--@include owners
local token, settles, before = ARGV[3], ARGV[4] == '1', {}
for _, one in ipairs({unpack(ARGV, 5)}) do before[one] = true end
local claims, own = read_owners(KEYS[1], ARGV[2]), nil
for _, claim in ipairs(claims) do
  if claim[1] == token then own = claim end
end
if not own then return {0} end

local list, changed = {}, own[2] ~= '0'
for _, claim in ipairs(claims) do
  if claim == own then
    -- Nobody has a claim only while a device is being removed.
    if settles and own[4] ~= '' then list[#list + 1] = {token, 0, own[3], own[4]} else changed = true end
  elseif not settles or not are_related(claim[3], own[3]) then
    list[#list + 1] = claim
  elseif not before[claim[1]] then
    return {0}
  elseif claim[2] == '0' or claim[2] + RUNS < now then
    changed = true
  else
    list[#list + 1] = claim
  end
end
if changed then write_owners(KEYS[1], ARGV[2], list) end
return {1}
