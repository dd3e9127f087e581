// Package policy has the rules for a user's messages as values: it parses, formats, validates and
// compares them. It has no context and no clock, and knows no Redis; the scripts judge, see package
// sendlimit.
//
//	Rule           at most Limit messages in each window, sliding or of the calendar
//	Policy         a named list of rules with quiet hours, categories and alerts
//	Throttle       at most Limit messages of all users in a minute or an hour
//	Document       a policy in JSON: in files, in the store and in the API
//	UserSettings   settings of one user: another policy, limits, a time zone
//	QuietHours     the times of the week at which nothing is sent
//
// Every check is here, so that files, the API and the programs refuse the same policies in the same
// words. An error is a *fault.InvalidError, or fault.InvalidErrors with all errors at once; each
// names the field, the value and what is allowed.
package policy
