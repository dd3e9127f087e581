-- policy_change: a change of a policy: its version, its number, and the window that it ends.
--
-- The list of versions of a policy has the newest first. An entry is
--
--   {"version":7,"at":1764000000000,"by":"ada","policy":{…}}    a policy that was stored
--   {"version":8,"at":1764000000000,"by":"ada","deleted":true}  the policy was deleted
--
-- at is Unix ms. Windows are a ZSET. "vip 3600000" -> +inf is how long, ms, a place counts under
-- the present policy with this name. "3600000" -> a time is how long it counted under a former
-- policy, and until when such a place still matters, Unix ms. The set expires with its last entry.

local time = redis.call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000

-- next_version returns the version after the present one, 0 for none. A deleted policy's numbers go
-- on, so that no version is used twice.
local function next_version(versions, present)
  local newest = redis.call('LINDEX', versions, 0) or ''
  return math.max(present, tonumber(string.match(newest, '^{"version":(%d+)') or 0)) + 1
end

-- keep_version adds an entry, and removes the oldest beyond `most`.
local function keep_version(versions, version, by, name, value, most)
  local words = {
    '{"version":', string.format('%.0f', version), ',"at":', string.format('%.0f', now),
    ',"by":', by, ',"', name, '":', value, '}',
  }
  redis.call('LPUSH', versions, table.concat(words))
  redis.call('LTRIM', versions, 0, tonumber(most) - 1)
end

-- note_change gives the change of a policy a number: the time in Unix microseconds, or one more
-- than the last change. So a store that lost changes gives no number twice.
local function note_change(changes, name)
  local last = redis.call('ZREVRANGE', changes, 0, 0, 'WITHSCORES')
  redis.call('ZADD', changes, math.max(tonumber(last[2] or 0) + 1, time[1] * 1000000 + time[2]), name)
end

-- replace_window sets the window of a policy to `keeps`, ms; nil removes it. Places counted for the
-- former window until now.
local function replace_window(windows, name, keeps)
  redis.call('ZREMRANGEBYSCORE', windows, '-inf', now)
  for _, member in ipairs(redis.call('ZRANGE', windows, '+inf', '+inf', 'BYSCORE')) do
    local of, former = string.match(member, '^(%S+) (%d+)$')
    if of == name then
      if former ~= '0' then redis.call('ZADD', windows, 'GT', now + former, former) end
      redis.call('ZREM', windows, member)
    end
  end
  if keeps then redis.call('ZADD', windows, '+inf', table.concat({name, ' ', keeps})) end
  local last = redis.call('ZRANGE', windows, -1, -1, 'WITHSCORES')
  if last[1] and not string.find(last[1], ' ', 1, true) then
    redis.call('PEXPIREAT', windows, last[2])
  else
    redis.call('PERSIST', windows)
  end
end
