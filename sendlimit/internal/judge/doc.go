// Package judge has what judges messages: policies made ready for scripts, and
// users' settings as last known.
//
//	Rules     the policies of a program; Replace swaps them for all that share it
//	Rulebook  the policies between two changes; a call takes one and keeps it
//	UserRules what judges one user's messages: policy, limits, time zone, blocked
//	Ruleset   one policy, with one kind of settings, as scripts read it
//	Scope     the rules for one category of a Ruleset
//
// Rulebook.Run calls a script by UserRules. Where the user's settings have changed,
// the script does nothing but return them; Run learns them and calls it again. Where
// they name an unknown policy, Run has the policies reloaded once. FreeTimes
// searches for free times in as many calls as it takes.
//
// Rulesets are compiled once for each policy and each distinct set of settings.
// Nothing on the way of a call takes a lock but that of the cache of settings.
//
// The package knows no records, no charges and no delivery. Errors: an
// *UnavailableError for settings that can't be read or name a policy that is not
// there (ErrUnknownPolicy), an *InvalidError for policies that can't be.
package judge
