-- hold: ties a change to the charge of an account or a throttle for it.
--
--   charge   "account attempt", with which the record's field y begins once the change is
--            made; the account is "." for none; "" without a hold
--   not_after, place_from, place_before   the last time of the change, the first time for its
--            place, and the end of the times for it, Unix ms; nil for none
local HOLD_OVER, OUTSIDE_HOLD, CHANGED = 10, 11, 12

-- outside refuses a change that the hold does not cover; otherwise it returns nil.
local function outside(at)
  if now > (not_after or now) then return {HOLD_OVER, now, at, 0} end
  if at < (place_from or at) or at >= (place_before or math.huge) then return {OUTSIDE_HOLD, now, at, 0} end
end

-- attempt_in returns the present attempt of the field y; "" for none.
local function attempt_in(y)
  local attempt = y and string.match(y, '^%S+ (%S+)')
  return attempt ~= '.' and attempt or ''
end

-- charged_anew returns the field y of a message that takes over the id of an ended one. It keeps
-- the attempts of the former field y.
local MOST_FORMER = 8
local function charged_anew(former)
  local kept, y = 0, charge ~= '' and charge or '. .'
  for word in string.gmatch(former, ' (%S+)') do -- after the account
    if word ~= '.' and kept < MOST_FORMER then
      y, kept = y .. ' ' .. word, kept + 1
    end
  end
  return y
end

-- charged_on returns the field y of a message that is moved or cancelled; before is its former
-- field. The hold of this change settled its former attempt, which is dropped. Older ones may
-- belong to another account and are kept. An attempt with a "~" may have a second hold on another
-- server, and is kept.
local function charged_on(before)
  local y = charge
  local attempt, former = string.match(before or '', '^%S+ (%S+)(.*)$')
  if not attempt then return y end
  if string.find(attempt, '~', 1, true) then return charged_anew(before) end
  return y .. former
end

-- is_as reports whether a reservation at `stands` with the field y is the one that the hold is for.
-- Without a hold, no account may be charged for it, since a charge changes together with its
-- reservation; and its time must be `from`, "" for any.
local function is_as(y, stands, former, from)
  if charge == '' then return attempt_in(y) == '' and (from == '' or stands == tonumber(from)) end
  return attempt_in(y) == former and stands == tonumber(from)
end
