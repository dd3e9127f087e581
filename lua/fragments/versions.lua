-- versions: the list of versions of a policy, the newest first. An entry is
--
--   {"version":7,"at":1764000000000,"by":"ada","policy":{…}}    a policy that was stored
--   {"version":8,"at":1764000000000,"by":"ada","deleted":true}  the policy was deleted
--
-- at is Unix ms.

-- next_version returns the version that follows the present one, 0 for none. A policy
-- that was deleted goes on with its numbers, so that no version stands for two.
local function next_version(versions, present)
  local newest = redis.call('LINDEX', versions, 0) or ''
  return math.max(present, tonumber(string.match(newest, '^{"version":(%d+)') or 0)) + 1
end

-- keep_version adds an entry, and removes the oldest beyond most.
local function keep_version(versions, version, by, name, value, most)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
  local words = {
    '{"version":', string.format('%.0f', version), ',"at":', string.format('%.0f', now),
    ',"by":', by, ',"', name, '":', value, '}',
  }
  redis.call('LPUSH', versions, table.concat(words))
  redis.call('LTRIM', versions, 0, tonumber(most) - 1)
end
