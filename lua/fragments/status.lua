-- status: the first element of a decision, and the flags of an accepted one.
--@include settings_status
local ALLOWED, SEND_LIMIT, ID_REUSED, TOO_LATE = 0, 1, 2, 3
local NOT_FOUND, IN_PAST, TOO_FAR_AHEAD, SEARCH_ON = 4, 5, 6, 7
local BLOCKED, QUIET_HOURS, OPTED_OUT, DO_NOT_DISTURB = 14, 15, 17, 24
local MOVED_OFTEN, EXPIRES_LATE = 20, 21
local SHIFTED, REPLAYED, SUPERSEDED, REPLACED = 1, 2, 4, 8
