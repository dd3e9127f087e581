-- settings_status: the statuses of fragments/settings.lua. They are separate, since a script has
-- room for only about 200 locals.
local SETTINGS_CHANGED, RULES_OLD, OTHER_RULES = 13, 16, 18
