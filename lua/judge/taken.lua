-- taken: times that a search has given away count as places for the next search.
q.takes = 0
local taken = {} -- each with the category of its message, nil or false for none

-- put adds a time that is taken to the times of a list; no message has it.
local function put(list, time)
  local times = list.times
  local at = first_from(times, list.first, list.last, time + 1)
  list.last = list.last + 1
  if list.first == 1 then
    table.insert(times, at, time)
  else
    for k = list.last, at + 1, -1 do times[k] = times[k - 1] end
    times[at] = time
  end
end

-- is_of reports whether a list counts messages of a category, nil or false for none.
local function is_of(list, category) return not list.category or list.category == category end

-- take counts a time as the place of a message of a category.
local function take(time, category)
  q.takes = q.takes + 1
  taken[q.takes] = {time = time, category = category}
  for _, list in pairs(q.lists) do
    if list.times and time > list.from and time < list.till and is_of(list, category) then put(list, time) end
  end
end

-- put_taken adds the taken times from the one to the other to what a list has read.
function q.put_taken(list, from, till)
  for k = 1, q.takes do
    local one = taken[k]
    if one.time >= from and one.time <= till and is_of(list, one.category) then put(list, one.time) end
  end
end

-- taken_in returns how many taken times of a list are in [from, till).
function q.taken_in(list, from, till)
  local count = 0
  for k = 1, q.takes do
    local one = taken[k]
    if one.time >= from and one.time < till and is_of(list, one.category) then count = count + 1 end
  end
  return count
end
