-- reach: which times a request may use, whatever the rules say.
local GRACE = 5000 -- ms; a time this far in the past counts as now

-- out_of_reach returns the reply for a time that is past or too far ahead, else nil.
local function out_of_reach(t)
  if t < now - GRACE then return {IN_PAST, now, t, 0} end
  if t > now + reach then return {TOO_FAR_AHEAD, now, t, 0} end
end

-- expires_late returns the reply for an expiry that is too late: the timeline is kept until then. A
-- missing expiry is never late.
local BEYOND_REACH = 31 * 24 * 60 * 60 * 1000 -- ms
local function expires_late(expiry, t)
  local latest = now + reach + BEYOND_REACH
  if (expiry or 0) > latest then return {EXPIRES_LATE, now, t, 0, latest} end
end
