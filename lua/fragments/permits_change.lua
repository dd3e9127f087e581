-- permits_change: the permits of one call.
--
-- Needs fragments/permits.lua.
local function member(token, k) return table.concat({token, k}, ':') end -- k is small, so no digit is lost

-- add takes n permits for a token at a time.
local function add(key, token, n, at)
  for k = 0, LAST_CLASS do
    if n % 2 ^ (k + 1) >= 2 ^ k then call('ZADD', key, k * CLASS + at, member(token, k)) end
  end
end

-- taken_by returns how many permits of some classes a token has taken between two times, when, and
-- the members.
local function taken_by(key, token, classes, since, till)
  local n, at, found, members = 0, nil, {}, {}
  for i = 1, #classes do members[i] = member(token, classes[i]) end
  local scores = members[1] and call('ZMSCORE', key, unpack(members))
  for i = 1, #members do
    local k, score = classes[i], tonumber(scores[i] or -1)
    if score >= k * CLASS + since and score <= k * CLASS + till then
      n, at = n + 2 ^ k, score - k * CLASS
      found[#found + 1] = members[i]
    end
  end
  return n, at, found
end
