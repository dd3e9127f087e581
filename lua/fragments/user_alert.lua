-- user_alert: alerts of a user's daily rules, once a place has been taken.
--
-- Daily are the natural day and a sliding one of 24 hours. The fullest of them,
-- in percent, counts, and the day is the natural one of the place's time.
--@include alert

-- fullest_window counts the places in the fullest sliding window that contains
-- at, as far as none is forgotten; 0 where even all that are near are fewer than
-- `least`.
local function fullest_window(window, at, least)
  local first, last = math.max(at - window + 1, now - keep), at + window - 1
  if redis.call('ZCOUNT', timeline, first, last) < least then return 0 end
  local near = redis.call('ZRANGE', timeline, first, last, 'BYSCORE', 'WITHSCORES')
  local most, i = 0, 2
  for j = 2, #near, 2 do
    while near[j] - near[i] >= window do i = i + 2 end
    -- From near[i] to near[j], which are less than a window apart: one that
    -- starts late enough and ends early enough has at in it, too.
    if near[i] - at <= 0 and near[j] - at >= 0 then most = math.max(most, (j - i) / 2 + 1) end
  end
  return most
end

-- alert_user alerts where the place at `at` has brought a daily rule to a
-- threshold, and returns the id of the notice, if there is one to deliver.
--
--   alerts   the policy's name, its time zone, 1 if its users are gathered for
--            somebody else to be told of, else 0, limit and window of its daily
--            rules as fragments/policy.lua has them, and the thresholds in percent:
--            "default UTC 0 10/-3,100/86400000 80 100". "" for no alerts.
local function alert_user(at)
  if alerts == '' then return end
  local prefix = string.match(timeline, '^[^}]*}:')
  local user = string.sub(timeline, #prefix + 3)
  local words, thresholds = {}, {}
  for word in string.gmatch(alerts, '%S+') do words[#words + 1] = word end
  for k = 5, #words do thresholds[k - 4] = tonumber(words[k]) end
  local gathered = words[3] == '1'
  local contact = redis.call('HEXISTS', prefix .. 'o:' .. user, 'contact') == 1
  if not gathered and not contact then return end

  local day_from, day_until = period(3, at)
  local used, limit, rule = 0, 1, nil
  for n, window in string.gmatch(words[4], '(%d+)/(-?%d+)') do
    local most, name
    n, window = tonumber(n), tonumber(window)
    if window < 0 then
      most, name = redis.call('ZCOUNT', timeline, day_from, day_until - 1), '/calendar_day'
    else
      most, name = fullest_window(window, at, n * thresholds[1] / 100), '/day'
    end
    if most / n > used / limit then used, limit, rule = most, n, whole(n) .. name end
  end
  if not rule then return end

  local extra = cjson.encode({policy = words[1], zone = words[2], rule = rule})
  local id, crossed = raise(prefix, contact and 'user_quota' or nil, 'u', user, day_from, day_until,
    used, limit, thresholds, extra)
  if crossed and gathered then
    redis.call('ZADD', prefix .. 'gathered', now, whole(day_from) .. '/' .. whole(crossed) .. '/' ..
      whole(used) .. '/' .. whole(limit) .. '/' .. words[1] .. '/' .. user)
  end
  return id
end
