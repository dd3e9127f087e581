-- hold: what binds a change to the charge that an account bears for it.
--
--   charge   "account attempt", what the record's field y says once the change is
--            made; "" without a hold
--   bounds   until when the change may be made, before when its place must be and
--            where a shift searches from, three words: Unix ms, "." for none. ""
--            for none of them.
local HOLD_OVER, OUTSIDE_HOLD, CHANGED = 10, 11, 12
local not_after, place_before
for a, b in string.gmatch(bounds, '(%S+) (%S+) %S+') do
  not_after, place_before = tonumber(a), tonumber(b)
end

-- outside answers for a change that the hold does not cover, or gives nil.
local function outside(at)
  if now > (not_after or now) then return {HOLD_OVER, now, at, 0} end
  if at >= (place_before or math.huge) then return {OUTSIDE_HOLD, now, at, 0} end
end

-- attempt_in reads the present attempt from the field y; "" for none.
local function attempt_in(y)
  local attempt = y and string.match(y, '^%S+ (%S+)')
  return attempt ~= '.' and attempt or ''
end

-- charged_anew is the field y of a message that takes the id of one that ended,
-- whose attempts, in its field y, `former`, it keeps.
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

-- charged_on is the field y of a message that is moved or cancelled, from what it
-- was before. Its attempt was settled by the hold of this change; the older ones
-- may be another account's.
local function charged_on(before)
  local y, former = charge, string.match(before or '', '^%S+ %S+(.*)$') or ''
  return y .. former
end

-- is_as says whether a reservation at `stands` with the field y is the one that
-- the hold was made for. Without a hold it is one that nobody was charged for:
-- a charge changes together with what it is for, or not at all; and one at `from`,
-- "" for anywhere.
local function is_as(y, stands, former, from)
  if charge == '' then return attempt_in(y) == '' and (from == '' or stands == tonumber(from)) end
  return attempt_in(y) == former and stands == tonumber(from)
end
