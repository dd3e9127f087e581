// Package audit keeps the log of changes by operators: who changed which user, message or policy,
// when, and with which outcome.
//
//	        Begin              End
//	(none) ───────► running ─────────► done, refused or failed
//
// An entry is written before its change. If Begin fails, the caller makes no change, so every
// change has an entry. If the program stops during the change, its entry stays running: nobody
// knows whether the change was made.
//
// The store's clock dates the entries, and gives them their ids. Ids ascend in the order of the
// calls of Begin. If the clock steps back, entries get the time of the previous entry until the
// clock is past it. A Begin that the client repeats within a minute, after a lost reply, adds one
// entry. A second End changes nothing.
//
// A caller can't empty the log by writing to it. Each entry is kept for Options.Keep. Entries of
// operators have no other bound. Other accounts keep their newest Options.Most entries, so that no
// account displaces the entries of another. Refused changes are a separate list with its own bound,
// one for each account and one for all operators. The first RefusalsPerMinute refusals of a minute
// have entries; the last of these counts the others. Each call removes at most 100 entries. The
// whole log expires after Options.Keep without a Begin.
//
// The caller must keep secrets and the content of messages out of entries. Texts that are too long
// are cut, so that no change lacks an entry because of its text. Erasing a user removes the user's
// name, the ids of messages, the detail and the answer from the entries about the user. Who changed
// something, what and when stays.
//
// All keys are in one slot of a cluster. The log is for manual changes, not for those of programs:
// 100,000 entries of 300 bytes need about 50 MB of Redis.
package audit
