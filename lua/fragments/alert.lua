-- alert: raises the alert of a quota, once for each subject, day and threshold.
--@include notice
local FLAG_KEPT = 108000000 -- ms that a flag is kept after its day: 30 hours

-- whole formats a whole number with all its digits; ".." may lose some.
local function whole(n) return string.format('%.0f', tonumber(n)) end

-- raise raises an alert if `used` of `limit` has reached a higher threshold than any alert of that
-- day. It returns the id of the alert and the threshold, or nothing. If several thresholds are
-- reached at once, it uses the highest, and its flag covers the lower ones too. After a quota was
-- raised the flag is "0@500": its thresholds raise alerts again, with ids that contain the new
-- quota, "80@500".
--
-- Alerts of an event always have the limit in their flags and ids, and a limit above that of the
-- flag raises alerts again.
--
--   prefix      "sl:{p0042}:" of the subject's partition
--   kind        of the alert: "account_quota", "user_quota", "event_limit"; nil for
--               none, if the caller reports the alert in another way
--   letter      of the subject in the flag's key: "a" an account, "u" a user, "e" an
--               event and its key
--   subject     its name
--   day_from    start and end of the day in the subject's zone, Unix ms, or of the
--   day_until   event's period. A past day raises no alert.
--   thresholds  ascending, percent
--   extra       details, JSON
--
-- Fields of the alert: k kind, s subject, d start of the day, h threshold, u used, l limit, x
-- extra.
local function raise(prefix, kind, letter, subject, day_from, day_until, used, limit, thresholds, extra)
  local crossed
  for k = 1, #thresholds do
    if used * 100 >= thresholds[k] * limit then crossed = thresholds[k] end
  end
  if not crossed or now >= tonumber(day_until) then return end
  local flag = prefix .. 'alert:' .. letter .. ':' .. subject .. ':' .. whole(day_from)
  local level, suffix = string.match(redis.call('GET', flag) or '0', '^(%d+)(.*)$')
  if letter == 'e' then
    local alerted = tonumber(string.sub(suffix, 2)) or 0
    if tonumber(limit) > alerted then level = 0 end
    suffix = '@' .. whole(limit)
  end
  if tonumber(level) >= crossed then return end
  local id = kind and kind .. '/' .. whole(day_from) .. '/' .. whole(crossed) .. suffix .. '/' .. subject
  if id then
    put_notice(prefix, id,
      'k', kind, 's', subject, 'd', day_from, 'h', crossed, 'u', used, 'l', limit, 'x', extra)
  end
  redis.call('SET', flag, whole(crossed) .. suffix, 'PXAT', day_until + FLAG_KEPT) -- last: it ends the alert
  return id, crossed
end
