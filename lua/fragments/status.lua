-- status: the first element of a decision, and the flags of an accepted one.
local ALLOWED, SEND_LIMIT, ID_REUSED, TOO_LATE = 0, 1, 2, 3
local NOT_FOUND, IN_PAST, TOO_FAR_AHEAD, SEARCH_ON = 4, 5, 6, 7
local SETTINGS_CHANGED, BLOCKED, QUIET_HOURS, RULES_OLD, OPTED_OUT, OTHER_RULES = 13, 14, 15, 16, 17, 18
local MOVED_OFTEN, EXPIRES_LATE = 20, 21
local SHIFTED, REPLAYED, SUPERSEDED = 1, 2, 4
