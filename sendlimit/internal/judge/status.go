package judge

// What the scripts say first, see lua/fragments/status.lua.
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

// And what they say of a change with a hold, see lua/fragments/hold.lua, and of a
// user's settings and quiet hours.
const (
	StatusHoldOver = iota + 10
	StatusOutsideHold
	StatusChanged
	StatusSettingsChanged
	StatusBlocked
	StatusQuietHours
)
