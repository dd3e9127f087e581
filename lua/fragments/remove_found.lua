-- remove_found: removes an entry of the index, see fragments/found.lua.
--@include partition

local function remove_found(list, letter, member)
  redis.call('ZREM', prefix .. list, member)
  redis.call('ZREM', prefix .. list .. ':' .. letter, member)
  redis.call('ZREM', prefix .. list .. ':long', member)
end
