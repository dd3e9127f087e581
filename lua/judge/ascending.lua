-- ascending: finds a place among times that ascend.

-- first_from returns the number of the first of some ascending times, from the k-th to the
-- last, that is not before t; last + 1 for none.
local function first_from(times, k, last, t)
  local beyond = last + 1
  while k < beyond do
    local middle = math.floor((k + beyond) / 2)
    if times[middle] < t then k = middle + 1 else beyond = middle end
  end
  return k
end
