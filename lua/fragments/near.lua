-- near: reads and counts the places that can matter to a time.
--
-- A rule counts the places of one list: the timeline or the set of its category. Of
-- these only the nearest matter: for a natural period how many are in it, and for a
-- sliding rule the `limit` places on each side of the time. So a call reads few
-- places, however many there are.
--
-- Excluded messages, a set of ids, do not count. Times that are taken count as places.
local MOST_CONFLICTS = 10
local FAR = 128 -- places that a read may walk over; more are counted first
local spent = 0 -- steps taken so far, about 0.25 us each; see WORK in search
local oldest = -math.huge -- earlier places do not count, for searches upwards
--@include whose

-- lists_of returns the list of each rule. `most` is how many places on each side of a
-- time matter to its sliding rules, `window` the largest window of these, ms.
--
-- If an account has a share of the rules, see fragments/judging.lua, it first adds a rule to the
-- rules for each of them: it counts only what is the account's. Such a list is `own`, and all
-- its places within a window matter.
local function lists_of(rules)
  if rules.lists then return rules.lists end
  local lists, all, own = {}, {key = timeline, most = MOST_CONFLICTS, window = 0}, nil
  if rules.category then
    own = {key = places_of(rules.category), category = rules.category, most = MOST_CONFLICTS, window = 0}
  end
  for r = 1, rules.count do
    local list = r <= rules.overall and all or own
    lists[r] = list
    if rules.windows[r] > 0 then
      list.most, list.window = math.max(list.most, rules.limits[r]), math.max(list.window, rules.windows[r])
    end
  end
  local percent, count = string.match(ARGV[3], '^%d+ %d+ %d+ %d+ %S+ (%d+)$'), rules.count
  if percent then
    local of = {}
    for r = 1, count do
      local list = lists[r]
      of[list] = of[list]
        or {key = list.key, category = list.category, own = true, most = math.huge, window = list.window}
      lists[count + r], rules.windows[count + r] = of[list], rules.windows[r]
      rules.limits[count + r] = math.max(1, math.ceil(rules.limits[r] * percent / 100))
    end
    rules.count = 2 * count
  end
  rules.lists = lists
  return lists
end

-- less returns how many of some ascending times are before t.
local function less(times, t)
  local k, beyond = 1, #times + 1 -- the first at t or later is in k to beyond
  while k < beyond do
    local middle = math.floor((k + beyond) / 2)
    if times[middle] < t then k = middle + 1 else beyond = middle end
  end
  return k - 1
end

-- excluded_in returns the times of the excluded places of a key, ascending.
local excluded_times = {}
local function excluded_in(key, excluded)
  local of_key = excluded_times[excluded] or {}
  excluded_times[excluded] = of_key
  if not of_key[key] then
    local times = {}
    for message in pairs(excluded) do
      local time = redis.call('ZSCORE', key, message)
      if time then times[#times + 1] = tonumber(time) end
      spent = spent + 4
    end
    table.sort(times)
    of_key[key] = times
  end
  return of_key[key]
end

-- count_in returns how many places of a key count in [from, till).
local function count_in(key, from, till, excluded)
  spent = spent + 8
  local count = redis.call('ZCOUNT', key, math.max(from, oldest), till - 1)
  if not excluded then return count end
  local times = excluded_in(key, excluded)
  return count - less(times, till) + less(times, from)
end

-- count_of returns how many places of a list count in a natural period of a rule, and ids and
-- times of these if the list is an account's own. It remembers the last answer: a call always
-- excludes the same messages.
local function count_of(list, window, from, till, excluded)
  local last = list[window]
  if not last or last.from ~= from then
    last = {from = from}
    if list.own then
      local read, own = redis.call('ZRANGE', list.key, math.max(from, oldest), till - 1, 'BYSCORE', 'WITHSCORES'), {}
      for k = 1, #read, 2 do
        if not (excluded and excluded[read[k]]) and is_its_own(read[k]) then
          own[#own + 1], own[#own + 2] = read[k], tonumber(read[k + 1])
        end
      end
      spent = spent + #read + 8
      last.count, last.own = #own / 2, own
    else
      last.count = count_in(list.key, from, till, excluded)
    end
    list[window] = last
  end
  return last.count, last.own
end

-- A reader has the places of a list around times that ascend. On its axis a time t is
-- direction * t:
--
--   times, ids  what it read, ascending
--   beyond      index of the first that is later than the present time
--   start       it has all from this time on
--   known       and before this time, and of this one the first `same`
--   taken       times that count too, ascending; next_taken is the first that is not
--               in times yet
local new_reader, mirrored, read_on, cover
do
  local function start_at(reader, start, chunk)
    reader.times, reader.ids, reader.count, reader.beyond = {}, {}, 0, 1
    reader.start, reader.known, reader.same, reader.chunk = start, start, 0, chunk
    reader.next_taken = less(reader.taken, start) + 1
  end

  function new_reader(list, direction, excluded, taken)
    local reader = {list = list, direction = direction, excluded = excluded, taken = taken or {}}
    start_at(reader, -math.huge, 16)
    return reader
  end

  local function append(reader, time, message)
    reader.count = reader.count + 1
    reader.times[reader.count], reader.ids[reader.count] = time, message
  end

  -- mirrored returns a reader downwards that has what a reader upwards has read.
  function mirrored(reader)
    local down = new_reader(reader.list, -1, reader.excluded)
    start_at(down, 1 - reader.start, 16)
    for k = reader.count, 1, -1 do
      if reader.times[k] >= reader.start then append(down, -reader.times[k], reader.ids[k]) end
    end
    return down
  end

  local function take_up(reader, bound) -- adds what is taken up to bound
    local taken = reader.taken
    while taken[reader.next_taken] and taken[reader.next_taken] <= bound do
      append(reader, taken[reader.next_taken])
      reader.next_taken = reader.next_taken + 1
    end
  end

  function read_on(reader) -- reads the next few
    local key, chunk, direction = reader.list.key, reader.chunk, reader.direction
    local read
    if reader.same > FAR then -- by rank: it does not walk over those of the same time
      local start = string.format('%.0f', direction * reader.known)
      local rank = reader.same
      if direction > 0 then
        rank = rank + redis.call('ZCOUNT', key, '-inf', '(' .. start)
        read = redis.call('ZRANGE', key, rank, rank + chunk - 1, 'WITHSCORES')
      else
        rank = rank + redis.call('ZCOUNT', key, '(' .. start, '+inf')
        read = redis.call('ZRANGE', key, rank, rank + chunk - 1, 'REV', 'WITHSCORES')
      end
      spent = spent + 8
    elseif direction > 0 then
      read = redis.call('ZRANGE', key, reader.known, '+inf', 'BYSCORE', 'LIMIT', reader.same, chunk, 'WITHSCORES')
    else
      read = redis.call('ZRANGE', key, -reader.known, '-inf', 'BYSCORE', 'REV', 'LIMIT', reader.same, chunk,
        'WITHSCORES')
    end
    for k = 2, #read, 2 do
      local time = direction * read[k]
      if time == reader.known then reader.same = reader.same + 1 else reader.known, reader.same = time, 1 end
      take_up(reader, time)
      local counts = not (reader.excluded and reader.excluded[read[k - 1]])
      if counts and (not reader.list.own or is_its_own(read[k - 1])) then append(reader, time, read[k - 1]) end
    end
    if #read < 2 * chunk then
      take_up(reader, math.huge)
      reader.known = math.huge
    end
    spent = spent + 2 * #read + 8
    reader.chunk = math.min(2 * chunk, 512)
  end

  -- skip_to starts a reader at the earliest place up to u that matters. Others of the
  -- same time do not: as many as matter to any rule follow.
  local function skip_to(reader, u)
    local list, start, surplus = reader.list, math.max(u - reader.list.window + 1, oldest), 0
    local most = list.most + (reader.excluded and #excluded_in(list.key, reader.excluded) or 0)
    local nth
    if reader.direction > 0 then
      nth = redis.call('ZRANGE', list.key, u, start, 'BYSCORE', 'REV', 'LIMIT', most - 1, 1, 'WITHSCORES')
    else
      nth = redis.call('ZRANGE', list.key, -u, -start, 'BYSCORE', 'LIMIT', most - 1, 1, 'WITHSCORES')
    end
    if nth[2] then
      local at, till = tonumber(nth[2]), reader.direction * u
      start = reader.direction * at
      surplus = redis.call('ZCOUNT', list.key, math.min(at, till), math.max(at, till)) - most
    end
    spent = spent + 24
    start_at(reader, start, math.min(2 * most, 512))
    if surplus > 0 then reader.same, reader.start = surplus, start + 1 end
  end

  -- cover makes a reader read all that matters to u, which is no earlier than before.
  function cover(reader, u)
    local list, reads = reader.list, 0
    if reader.known <= u - list.window then start_at(reader, math.max(u - list.window + 1, oldest), 16) end
    while true do
      while reader.times[reader.beyond] and reader.times[reader.beyond] <= u do reader.beyond = reader.beyond + 1 end
      if reader.known >= u + list.window or reader.count - reader.beyond + 1 >= list.most then return end
      if reads == 1 and reader.known <= u and not list.own then skip_to(reader, u) end
      read_on(reader)
      reads = reads + 1
    end
  end
end
