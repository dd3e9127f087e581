// Package judge has the rules that judge messages: policies compiled for the scripts, and the last
// known settings of users.
//
//	Rules     the policies of a program; Replace swaps them for everything that shares it
//	Rulebook  the policies between two changes; a call uses one from start to end
//	UserRules the rules for one user's messages: policy, limits, time zone, blocked
//	Ruleset   one policy, with one kind of settings, as scripts read it
//	Scope     the rules for one category of a Ruleset
//
// Rulebook.Run calls a script with UserRules. If the user's settings have changed, the script only
// returns them; Run learns them and calls it again. If they name an unknown policy, Run reloads the
// policies once. FreeTimes searches for free times in as many calls as necessary.
//
// Rulesets are compiled once for each policy and each distinct set of settings. Normally a call
// takes only the lock of the settings cache.
//
// The package does not know records, charges or delivery. Errors: an *UnavailableError for settings
// that can't be read or name a policy that does not exist (ErrUnknownPolicy), an *InvalidError for
// invalid policies.
package judge
