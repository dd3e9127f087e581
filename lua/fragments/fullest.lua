-- fullest: finds the fullest window around a time.
--
-- A window of a sliding rule that contains the time starts at a place or at the time itself: any
-- other can start later without losing a place. The search goes through these starts in stretches.
-- It skips a stretch if all places from its first start to the end of its last window together
-- would not be more than the fullest window so far. So it reads no place, and counts few stretches,
-- unless all windows are about equally full.
local place_after, fullest
do
  local SIMPLY, COMMAND = 256, 8 -- places that are read without a search; steps of a command, see judge/question.lua
  local LONGEST = 1024 -- places in a stretch

  -- fullest_read returns the result of fullest for few places, from their times.
  local function fullest_read(times, window, at)
    local used, from, last = 0, at, 0
    for first = 1, #times do
      if times[first] > at then break end
      while times[last + 1] and times[last + 1] < times[first] + window do last = last + 1 end
      if last - first + 1 > used then used, from = last - first + 1, times[first] end
    end
    local later = 0
    while times[#times - later] and times[#times - later] >= at do later = later + 1 end
    if later > used then return later, at end
    return used, from
  end

  -- place_after returns the time of the first place of a key in [from, till] after this many
  -- others; nil if there is none.
  function place_after(key, from, till, others)
    local read = redis.call('ZRANGE', key, from, till, 'BYSCORE', 'LIMIT', others, 1, 'WITHSCORES')
    return tonumber(read[2])
  end

  -- fullest(key, window, at, oldest, most, state) counts the places of a key from `oldest` on. It
  -- returns how many places are in the fullest window that contains at; its start, the earliest of
  -- equally full ones; and the steps it took. After `most` steps it returns nil instead of the
  -- start: then `state`, a table that was empty in the first call, has where it continues.
  function fullest(key, window, at, oldest, most, state)
    local first = math.max(at - window + 1, oldest)
    local all = redis.call('ZCOUNT', key, first, at + window - 1)
    local steps = COMMAND
    if all <= SIMPLY then
      local read, times = redis.call('ZRANGE', key, first, at + window - 1, 'BYSCORE', 'WITHSCORES'), {}
      for k = 2, #read, 2 do times[k / 2] = tonumber(read[k]) end
      local used, from = fullest_read(times, window, at)
      return used, from, steps + 2 * #read
    end

    local function count(from, till)
      steps = steps + COMMAND
      return redis.call('ZCOUNT', key, math.max(from, oldest), till - 1)
    end
    if not state.used then
      -- A few windows first: stretches that can't reach the fullest of them are skipped.
      state.used, state.from, state.next, state.least = 0, at, first, 0
      for k = 0, 16 do
        local from = at - math.floor((window - 1) * k / 16)
        state.least = math.max(state.least, count(from, from + window))
      end
    end
    local start, stretch = place_after(key, state.next, at, 0), 64
    local began = start
    while start and state.used < all do
      if steps >= most and start ~= began then
        state.next = start
        return state.used, nil, steps
      end
      local following = place_after(key, start, at, stretch) -- starts from here on are later
      local alone = following == start or stretch == 1
      if following == start then following = place_after(key, '(' .. string.format('%.0f', start), at, 0) end
      local till = alone and start + 1 or following or at + 1
      steps = steps + COMMAND + stretch / 64
      local bound = count(start, till - 1 + window)
      if bound > state.used and bound >= state.least and not alone then
        stretch = math.max(1, math.floor(stretch / 4))
      else
        if alone and bound > state.used then state.used, state.from = bound, start end
        start = following
        stretch = math.min(2 * stretch, LONGEST)
      end
    end
    local last = count(at, at + window)
    if last > state.used then state.used, state.from = last, at end
    return state.used, state.from, steps
  end
end
