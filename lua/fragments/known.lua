-- known: answers a request whose id is in use; returns nil if the id is free.
--
-- With records the fingerprint distinguishes a repeated request from another one. Without records,
-- the time of the place must be one that the request could have got. The same generation means the
-- same call, repeated by a client without a reply: it is not done again, even if the message was
-- cancelled since. So does the same attempt, "" for none: the relay may have given the message
-- another generation since. A request that may replace a message finds it here.
--@include replacement
local function known(asked, until_at, generation, fingerprint, attempt)
  if record then
    local r = redis.call('HMGET', record, 's', 'g', 't', 'r', 'h', 'f', 'p', 'y', 'X', 'E', unpack(read_too))
    local flags = (r[5] and SHIFTED or 0) + (r[9] and REPLACED or 0)
    if r[2] ~= generation and not has_attempt(r[8], attempt) then
      if id_is_free(state_of(r[1], r[2])) then return nil end
      if find_replaced and (r[6] ~= fingerprint or r[10]) then return find_replaced(asked, r) end
      if r[6] ~= fingerprint then return {ID_REUSED, now, asked, 0} end
      flags = flags + REPLAYED
    end
    return {ALLOWED, now, tonumber(r[3]), tonumber(r[4] or r[7] or 0), flags, 0}
  end
  local held = tonumber(redis.call('ZSCORE', timeline, id) or -1)
  if held < now - keep then return nil end
  local graced = asked < now and held >= asked and held <= asked + GRACE
  if held ~= asked and not graced and not (until_at and held >= asked and held <= until_at) then
    return {ID_REUSED, now, asked, 0}
  end
  local flags = REPLAYED
  if held ~= asked and not graced then flags = flags + SHIFTED end
  return {ALLOWED, now, held, held ~= asked and asked or 0, flags, 0}
end

-- exclude_lost_place ignores a place of the id that is not over and has no record. It returns
-- whether there is one. The record of a message that is not over never expires, so it was lost, and
-- nobody owns the place.
local function exclude_lost_place()
  if not record or redis.call('EXISTS', record) == 1 then return false end
  local lost = tonumber(redis.call('ZSCORE', timeline, id) or now) > now
  if lost then
    q.excluded[id] = true
    for name in pairs(q.lists) do q.lists[name] = nil end -- they may include the place
  end
  return lost
end
