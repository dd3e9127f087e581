-- user_alert: raises alerts of a user's daily rules after a place was taken.
--
-- Daily rules have the natural day or a window of 24 hours. The fullest of them, in percent,
-- counts. The alert is for the natural day of the place's time.
--@include alert
--@include fullest
--@include judge/zone

-- fullest_window returns how many places the fullest sliding window that contains at has, without
-- forgotten ones; 0 if fewer than `least` places are near at. If there are very many windows it
-- checks only some: all alerts of a call share its steps.
local alert_steps = 4000
local function fullest_window(window, at, least)
  local first, last = math.max(at - window + 1, now - keep), at + window - 1
  if redis.call('ZCOUNT', timeline, first, last) < least then return 0 end
  local used, _, steps = fullest(timeline, window, at, now - keep, alert_steps, {})
  alert_steps = alert_steps - steps
  return used
end

-- alert_user raises an alert if the place at `at` brought a daily rule to a threshold. It returns
-- the id of the alert, if there is one to deliver.
--
--   alerts   the policy's name, its time zone, 1 if its users are gathered for a digest to
--            the policy's contact, else 0, limit and window of its daily rules as in
--            judge/rules.lua, and the thresholds in percent:
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

  local day_from, day_until = clocks_of_zone().period(3, at)
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
