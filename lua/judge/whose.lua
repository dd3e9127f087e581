-- whose: whether a place belongs to the account with a share, see judge/arguments.lua. A place's
-- record has its account; a place without a record belongs to nobody. In a dry run, records that
-- were not copied are read in their original place.
if share_places then
  local whose = {}

  function q.is_its_own(message)
    if whose[message] == nil then
      local prefix, user = string.match(timeline, '^([^}]*}:)%l:(.*)$')
      local key = table.concat({prefix, 'm:', user, ':', (string.gsub(message, ':', '/'))})
      local charge = redis.call('HGET', key, 'y')
      local real, copied = string.gsub(key, '^([^:]*)%-dry%-[^:]*', '%1', 1)
      if not charge and copied == 1 then charge = redis.call('HGET', real, 'y') end
      whose[message] = charge and string.match(charge, '^%S+') == share_account or false
      q.spent = q.spent + 4
    end
    return whose[message]
  end

  -- own_reach reports whether at least `least` of the `count` places under a key from first to last
  -- belong to the account.
  function q.own_reach(least, key, first, last, count)
    local SLICE = 256
    local read, own, others = 0, 0, 0
    repeat
      local page = redis.call('ZRANGE', key, first, last, 'BYSCORE', 'LIMIT', read, SLICE)
      for k = 1, #page do
        if own >= least or others > count - least then break end
        if not q.excluded[page[k]] then
          if q.is_its_own(page[k]) then own = own + 1 else others = others + 1 end
        end
      end
      read, q.spent = read + #page, q.spent + #page + 8
    until own >= least or others > count - least or #page < SLICE
    return own >= least
  end
end
