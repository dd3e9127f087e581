-- rank_behind: where a reader continues in a sorted set after the last member that it read.
--@include id_order

-- rank_behind returns how many entries of a sorted set come before or at an id at a time. It does
-- not walk over the entries of that time.
local function rank_behind(key, time, id)
  local rank, beyond = redis.call('ZCOUNT', key, '-inf', time - 1), redis.call('ZCOUNT', key, '-inf', time)
  while rank < beyond do
    local middle = math.floor((rank + beyond) / 2)
    if id_at_or_before(redis.call('ZRANGE', key, middle, middle)[1], id) then rank = middle + 1 else beyond = middle end
  end
  return rank
end
