-- taken: times that a search has returned count as places for the next search.
q.takes = 0
local taken, taken_of = {}, {} -- ascending: all, and those of each category

-- taken_by returns the times that a list counts.
local function taken_by(list) return list.category and (taken_of[list.category] or {}) or taken end

-- put adds a time to `count` ascending times.
local function put(times, count, time) table.insert(times, first_from(times, 1, count, time + 1), time) end

local function put_into(list, time)
  put(list.times, list.last, time)
  list.last = list.last + 1
end

-- take counts a time as the place of a message of a category, nil or false for none.
local function take(time, category)
  q.takes = q.takes + 1
  put(taken, #taken, time)
  if category then
    taken_of[category] = taken_of[category] or {}
    put(taken_of[category], #taken_of[category], time)
  end
  for _, list in pairs(q.lists) do
    local counts = not list.category or list.category == category
    if counts and list.times and time > list.from and time < list.till then put_into(list, time) end
  end
end

-- put_taken adds the taken times from `from` to `till` to the read places of a list.
function q.put_taken(list, from, till)
  local times = taken_by(list)
  local k = first_from(times, 1, #times, from)
  while times[k] and times[k] <= till do
    put_into(list, times[k])
    k = k + 1
  end
end

-- taken_in returns how many taken times of a list are in [from, till).
function q.taken_in(list, from, till)
  local times = taken_by(list)
  local first = first_from(times, 1, #times, from)
  return first_from(times, first, #times, till) - first
end
