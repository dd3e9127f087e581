-- ascending: finds a position among ascending times.

-- first_from returns the number of the first of some ascending times, from the k-th to the last,
-- that is not before t; last + 1 for none.
local function first_from(times, k, last, t)
  local beyond = last + 1
  while beyond - k > 3 do
    local middle = (k + beyond) / 2
    middle = middle - middle % 1
    if times[middle] < t then k = middle + 1 else beyond = middle end
  end
  while k < beyond and times[k] < t do k = k + 1 end
  return k
end
