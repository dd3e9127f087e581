-- places: the places that can matter to a time.
--
-- A rule counts the places of one list: the timeline, or the set of its category. Only the nearest
-- of these matter: for a natural period their number in it, and for a sliding rule the `limit`
-- places on each side of the time. So a call reads few places, however many there are.
--
-- A list has
--
--   q               the question, see judge/question.lua
--   key, category   key of its places, and their category; nil for all
--   own             true if only the places of the account with a share count
--   window, most    the largest window of its sliding rules, ms; how many places on each
--                   side of a time matter to them
--   times, ids      places that it has read, ascending, numbered from 1 to last. With taken
--                   times, see judge/taken.lua, the ids are of other places
--   from, till      it has read all places between these times, and maybe some at them
--   low, high       the ranks of the read places: from low on, before high
--   at              the number of the last place not later than the last requested time
--   chunk           how many it reads next
--   card            how many places are under the key, if it is known
--   without         times of its excluded places, ascending, once they matter
--   read            how many places begin_with was given
--
-- Nothing is written while a script judges, so ranks stay the same; but see judge/put_place.lua.
--@include judge/ascending
local list_at, begin_with, cover, count_in, add_conflicts
do -- the embedded store bounds the locals of a script
  -- list_at returns the list of a key.
  function list_at(q, key, category, own)
    local name = own and key .. ' own' or key
    local list = q.lists[name]
    if not list then
      list = {q = q, key = key, category = category, own = own, window = 0, most = own and math.huge or q.conflicts,
        times = false, ids = false, last = 0, at = 0, from = 0, till = 0, chunk = false, card = false, read = 0}
      q.lists[name] = list
    end
    return list
  end

  -- begin_with starts a list with read places: ids and times from a time on, at most `most`.
  function begin_with(list, from, read, most)
    -- With room for 16: a table that grows costs as much as a command.
    local times = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
    local ids = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
    local n = #read / 2
    for k = 1, n do ids[k], times[k] = read[2 * k - 1], tonumber(read[2 * k]) end
    list.times, list.ids, list.last, list.at = times, ids, n, 0
    list.from, list.till, list.chunk, list.read = from - 1, n < most and math.huge or times[n], 16, n
  end

  -- counted_in returns ids and times of the read places that count, and their number.
  local function counted_in(list, read)
    local times, ids, n, excluded = {}, {}, 0, list.q.excluded
    for k = 1, #read, 2 do
      if not excluded[read[k]] and (not list.own or list.q.is_its_own(read[k])) then
        n = n + 1
        times[n], ids[n] = tonumber(read[k + 1]), read[k]
      end
    end
    list.q.spent = list.q.spent + 2 * #read + 8
    return times, ids, n
  end

  -- begin_at starts a list at t.
  local function begin_at(list, t)
    local chunk, rank = list.chunk or 16, redis.call('ZCOUNT', list.key, '-inf', t)
    local low = math.max(rank - chunk, 0)
    local read = redis.call('ZRANGE', list.key, low, rank + chunk - 1, 'WITHSCORES')
    list.times, list.ids, list.last = counted_in(list, read)
    list.at = 0
    list.low, list.high, list.chunk = low, rank + chunk, chunk
    list.from = low > 0 and tonumber(read[2]) or -math.huge
    list.till = #read == 2 * (rank + chunk - low) and tonumber(read[#read]) or math.huge
    list.q.spent = list.q.spent + 8
    if list.q.put_taken then list.q.put_taken(list, list.from + 1, list.till - 1) end
  end

  -- read_on reads the next later places of a list, in direction -1 the next earlier ones.
  local function read_on(list, direction)
    local q, chunk = list.q, list.chunk
    if not list.low then -- after begin_with
      list.low = redis.call('ZCOUNT', list.key, '-inf', list.from)
      list.high, q.spent = list.low + list.read, q.spent + 8
    end
    local low, high = list.high, list.high + chunk
    if direction < 0 then low, high = math.max(list.low - chunk, 0), list.low end
    local read = high > low and redis.call('ZRANGE', list.key, low, high - 1, 'WITHSCORES') or {}
    local times, ids, n = counted_in(list, read)
    if direction > 0 then
      for k = 1, n do list.times[list.last + k], list.ids[list.last + k] = times[k], ids[k] end
      list.last = list.last + n
      local former = list.till
      list.high, list.till = high, #read == 2 * chunk and tonumber(read[#read]) or math.huge
      if q.put_taken then q.put_taken(list, former, list.till - 1) end
    else
      for k = 1, list.last do times[n + k], ids[n + k] = list.times[k], list.ids[k] end
      list.times, list.ids, list.last, list.at = times, ids, n + list.last, n + list.at
      q.spent = q.spent + list.last / 8
      local former = list.from
      list.low, list.from = low, low > 0 and tonumber(read[2]) or -math.huge
      if q.put_taken then q.put_taken(list, list.from + 1, former) end
    end
    list.chunk = math.min(2 * chunk, 512)
  end

  -- come_to reads places of a list until t.
  local function come_to(list, t)
    if list.times and t >= list.till and t - list.till < list.window then read_on(list, 1) end
    if list.times and t < list.from and list.from - t < list.window then read_on(list, -1) end
    if not list.times or t >= list.till or t < list.from then begin_at(list, t) end
  end

  -- cover makes a list read the places that matter to t: on each side of t all within its window, or
  -- the nearest `most`. It returns the number of the last place that is not later than t.
  function cover(list, t)
    if not list.times or t >= list.till or t < list.from then come_to(list, t) end
    local from, till = t - list.window, t + list.window
    while true do
      local times, at = list.times, list.at
      while at < list.last and times[at + 1] <= t do at = at + 1 end
      while at > 0 and times[at] > t do at = at - 1 end
      list.at = at
      if list.from <= from and list.till >= till then return at end -- usually everything has been read
      if list.from > from and at < list.most then
        read_on(list, -1)
      elseif list.till < till and list.last - at < list.most then
        read_on(list, 1)
      else
        return at
      end
    end
  end

  -- knows reports whether a list has read all places in [from, till), and the numbers of the first
  -- of them and of the first after them. It reads the whole list if only the account's places
  -- count.
  local function knows(list, from, till)
    if list.own then
      if not list.times or from < list.from or from >= list.till then begin_at(list, from) end
      while list.from >= from do read_on(list, -1) end
      while list.till < till do read_on(list, 1) end
    elseif not list.times or list.from >= from or list.till < till then
      return false
    end
    local first = first_from(list.times, 1, list.last, from)
    return true, first, first_from(list.times, first, list.last, till)
  end

  -- count_in returns how many places of a list count in [from, till).
  function count_in(list, from, till)
    local known, begun, beyond = knows(list, from, till)
    if known then return beyond - begun end
    local q = list.q
    q.spent = q.spent + 8
    local count = redis.call('ZCOUNT', list.key, from, till - 1)
    local without = list.without
    if not without then -- the times of the excluded places
      without = {}
      for message in pairs(q.excluded) do
        without[#without + 1] = tonumber(redis.call('ZSCORE', list.key, message) or '-1')
        q.spent = q.spent + 4
      end
      table.sort(without)
      list.without = without
    end
    local first = first_from(without, 1, #without, from)
    count = count - first_from(without, first, #without, till) + first
    return q.taken_in and count + q.taken_in(list, from, till) or count
  end

  -- add_conflicts appends ids and times of the first places of a list in [from, till) to others, at
  -- most as many as a refusal shows. It returns how many places count there.
  function add_conflicts(found, list, from, till)
    local n, read, most = #found, 0, list.q.conflicts
    local known, first, beyond = knows(list, from, till)
    if known then
      local times, ids = list.times, list.ids
      for k = first, (beyond - first > most and first + most or beyond) - 1 do
        found[n + 1], found[n + 2] = ids[k], times[k]
        n = n + 2
      end
      return beyond - first
    end
    local all = n + 2 * most
    repeat -- usually once: few are excluded
      local page = redis.call('ZRANGE', list.key, from, till - 1, 'BYSCORE', 'LIMIT', read, most, 'WITHSCORES')
      for k = 1, #page, 2 do
        if n < all and not list.q.excluded[page[k]] then
          found[n + 1], found[n + 2] = page[k], tonumber(page[k + 1])
          n = n + 2
        end
      end
      read = read + most
    until n == all or #page < 2 * most
    return count_in(list, from, till)
  end
end
