package judge

// Statuses that scripts return first, see lua/fragments/status.lua.
const (
	StatusAllowed = iota
	StatusSendLimit
	StatusIDReused
	StatusTooLate
	StatusNotFound
	StatusInPast
	StatusTooFarAhead
	StatusSearchOn
	StatusPastExpiry
)

// Statuses of a change with a hold, see lua/fragments/hold.lua, of a user's settings, of quiet
// hours and of full days.
const (
	StatusHoldOver = iota + 10
	StatusOutsideHold
	StatusChanged
	StatusSettingsChanged
	StatusBlocked
	StatusQuietHours
	StatusRulesOld   // see lua/judge/arguments.lua
	StatusOptedOut   // see lua/fragments/switched_off.lua
	StatusOtherRules // see lua/fragments/settings.lua
	StatusTooManyPlaces
	StatusMovedOften // see lua/place/move.lua
	StatusExpiresLate
	StatusEdited // see lua/fragments/edit.lua
	StatusAccountPlaces
	StatusDoNotDisturb
)
