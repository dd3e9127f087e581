-- rate/permits_give_back.lua: gives permits of one call back before their time.
--
-- KEYS[1]  permits taken overall (ZSET, see fragments/permits.lua)
-- KEYS[2]  permits taken by this client (the same)
-- ARGV[1]  token of the call that took them
-- ARGV[2]  how many to give back; "" for all
--
-- Returns  {how many it gave back}: 0 if they were free already.
-- Cost     O(log m) in the permits taken.

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR rate/permits_give_back.lua: wrong number of keys or arguments')
end
--@include moving

--@include permits
--@include permits_change

local classes = {}
for k = 0, LAST_CLASS do classes[#classes + 1] = k end

-- The rate may have changed from overall to each client since, or back.
local most, given = tonumber(ARGV[2]) or math.huge, 0
for _, key in ipairs({KEYS[1], KEYS[2]}) do
  local held, at, members = taken_by(key, ARGV[1], classes, 0, CLASS - 1)
  local back = math.min(held, most - given)
  if back > 0 then
    call('ZREM', key, unpack(members))
    add(key, ARGV[1], held - back, at)
    given = given + back
  end
end
return {given}
