// Package audit keeps the log of the changes that operators make: who did what, about which
// user, message or policy, when, and how it ended.
//
//	        Begin                End
//	(none) ───────► under way ─────────► done, refused or failed
//
// An entry is written before its change. A caller whose Begin fails makes no change, so no
// change is without an entry. A change whose program stopped in the middle stays under way:
// nobody knows whether it was made.
//
// The store's clock dates the entries, and gives them their ids. Ids ascend in the order of
// the calls of Begin. If the clock steps back, entries get the time of the entry before until
// the clock is past it. A Begin whose reply is lost and that the client repeats within a
// minute adds one entry. The second End of an entry changes nothing.
//
// Who may write to the log can't empty it. Each entry is kept for Options.Keep, those of an
// operator in any case. Of an account that is no operator the newest Options.Most are kept, so
// that no account pushes out the entries of another. Refused changes are a list of their own, with
// its own bound, for each account and one for all operators: they push out nothing else. Of
// those of a minute the first RefusalsPerMinute get an entry, and the last of these counts the
// others. Each call removes at most 100 entries. Without any Begin for Options.Keep the whole log
// expires.
//
// Entries have neither secrets nor the content of messages: that is up to the caller. Texts
// that are too long are cut, so that a change is never without an entry because of its words.
// Erasing a user removes the user's name, the ids of messages, the detail and the answer from
// the entries about the user. Who changed something, what and when stays.
//
// All keys are in one slot of a cluster. The log is for changes by hand, not for those of
// programs: 100,000 entries of 300 bytes take about 50 MB of Redis.
package audit
