-- permits: how many permits are taken, and when they come back.
--
-- A taken permit comes back after the interval of the rate. The permits of a call are entries of a
-- ZSET, one for each bit of their number: an entry of class k is 2^k permits. Its member is
-- "token:k", its score k * CLASS plus the time when it was taken, Unix ms. ZCOUNT of each class
-- counts the permits of a span without reading them, so that a call of 100000 permits costs little
-- more than a call of one.
--
-- The rate is a STRING: permits, their interval in ms, and "o" overall or "c" for each client,
-- separated by spaces; "k" with how long it stays after its last use, in ms, if it expires; and "b"
-- with the maximum number of calls at once, for package rate's Paces.
--
-- Permits that were taken while the clock was ahead lie in the future when it is right again. Those
-- up to an interval and the lag ahead count as taken, and a permit may also count up to
-- LONGEST_DELAY later than it was taken. Permits further ahead do not count: otherwise a short step
-- of the clock would block all calls for as long as the step.
local call = redis.call
local CLASS = 281474976710656 -- 2^48 ms, later than the year 9999
local LONGEST_DELAY = 60000 -- ms, Go's maximum
local LAST_CLASS = 16 -- a rate has at most 100000 permits, fewer than 2^17

-- read_rate returns permits and interval of the rate in a key, the key that counts the permits of a
-- client (`overall` or `own`), and how long the rate stays after its last use. It returns nothing
-- if there is no rate, and false if the text is no rate.
local function read_rate(key, overall, own)
  local text = call('GET', key)
  if not text then return end
  local rate, interval, owner = string.match(text, '^(%d+) (%d+) ([oc])')
  if not rate then return false end
  return tonumber(rate), tonumber(interval), owner == 'c' and own or overall, string.match(text, ' k(%d+)')
end

-- read_taken returns the permits in a key that are taken at a time, Unix ms, where a permit lasts
-- for `lasts` ms: how many are used, since and until when they were taken, when the newest were,
-- their classes, and the classes that have older or later entries.
local function read_taken(key, at, lasts)
  local since, till = at - lasts + 1, at + lasts + LONGEST_DELAY
  local taken = {key = key, since = since, till = till, used = 0, newest = since - 1,
    classes = {}, older = {}, later = {}}
  local left, k = call('ZCARD', key), 0
  while left > 0 and k <= LAST_CLASS do
    local base = k * CLASS
    local held = call('ZCOUNT', key, base + since, base + till)
    if held > 0 then
      local last = call('ZRANGE', key, base + till, base + since, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
      taken.used, taken.newest = taken.used + held * 2 ^ k, math.max(taken.newest, last[2] - base)
      taken.classes[#taken.classes + 1] = k
    end
    left = left - held
    local older = left > 0 and call('ZCOUNT', key, base, base + since - 1) or 0
    if older > 0 then taken.older[#taken.older + 1] = k end
    left = left - older
    local later = left > 0 and call('ZCOUNT', key, base + till + 1, base + CLASS - 1) or 0
    if later > 0 then taken.later[#taken.later + 1] = k end
    left, k = left - later, k + 1
  end
  return taken
end

-- nth_taken returns when the n-th oldest permit was taken. n is at most used.
local function nth_taken(taken, n)
  local classes = taken.classes
  if #classes == 1 then
    local base = classes[1] * CLASS
    local nth = call('ZRANGE', taken.key, base + taken.since, base + taken.till, 'BYSCORE',
      'LIMIT', math.ceil(n / 2 ^ classes[1]) - 1, 1, 'WITHSCORES')
    return nth[2] - base
  end
  local low, high = taken.since, taken.newest
  while low < high do
    local middle, found = math.floor((low + high) / 2), 0
    for i = 1, #classes do
      local base = classes[i] * CLASS
      found = found + 2 ^ classes[i] * call('ZCOUNT', taken.key, base + taken.since, base + middle)
    end
    if found >= n then high = middle else low = middle + 1 end
  end
  return low
end
