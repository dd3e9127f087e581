-- put_place: updates the read places of a list while a script takes places.
--@include id_order

-- put_place adds a newly taken place to a list. No rule forbids its time, so the list has read all
-- places within its window around it.
local function put_place(list, id, time)
  local times, k = list.times, list.last
  if not times then return end
  while k > 0 and (times[k] > time or times[k] == time and id_at_or_before(id, list.ids[k])) do
    times[k + 1], list.ids[k + 1] = times[k], list.ids[k]
    k = k - 1
  end
  times[k + 1] = time
  list.ids[k + 1] = id
  list.last = list.last + 1
  if list.at > k then list.at = list.at + 1 end
  list.high = list.high + 1
end
