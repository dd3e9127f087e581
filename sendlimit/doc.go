// Package sendlimit limits a user's messages by their send times, ahead of time. A
// request such as "send this to alice at 15:00" is judged when it is made, against
// everything else that alice is to receive around 15:00.
//
//	rules, err := sendlimit.NewRules(p) // a policy.Policy; nil Rules mean the default policy
//	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: rules})
//	decision, err := timeline.Reserve(ctx, sendlimit.Request{User: "alice", ID: "m1", At: at})
//
// A Timeline keeps each user's send times in Redis and judges them by rules.
// Sliding rules hold for every window of a length ("1/minute"), calendar rules for
// natural periods ("10/calendar_day"). Each operation is one Lua script and one
// round trip; a long search takes more. Any number of processes may share a store.
//
//	Reserve     takes a place, or the next free one; or says what is in the way
//	Check       says what Reserve would answer, and writes nothing
//	Move        gives a reservation another place; a refused one keeps its old place
//	Release     gives a reservation back
//	RecordSent  records a message that something else has sent
//	NextFree    returns the next free times
//	List        returns a user's reservations
//	Usage       returns how full the rules are, and free stretches
//	Rehearse    begins a dry run, judged on copies
//
// A refusal is a Decision, not an error. Errors are *fault.InvalidError,
// *fault.UnavailableError, or fault.ErrReply for a reply that makes no sense. The
// server's clock judges; a request's Now replaces it in tests.
//
// # Rules
//
// Rules has the policies. The first applies to every user whose settings name no
// policy. Settings (package settings) may name another policy, replace limits of
// the same window, set a time zone, or block the user. Rules remembers settings,
// and each script compares their version with the store's, so that a change takes
// effect immediately. Rules.Replace changes the policies of all that share one
// Rules; a call that has begun ends under the policies it began with.
//
// A rule of a category counts the places whose records name that category. Nothing
// counts a message of an exempt category that does not count itself.
// Quiet hours go by what local clocks show. A throttle of a category limits all users
// together: package quota charges it, and a Timeline with records takes no place in the
// category without that charge. Late and recorded messages do not need it.
//
// Reservations keep their places when rules change. They count as long as the longest window of
// any policy needs, see Rules.Remember for those that there were before. What was forgotten under
// shorter windows stays forgotten under a longer one.
//
// # Records
//
// With Options.Records a message's content and state live beside its place, and
// package messages delivers it: Gate, WatchList, Records, DeadLetters. The record is
// the truth. Each task of a queue carries a generation, and only the present one
// delivers, so that no queue has to be able to take a task back.
//
// A message that is later than Options.Tolerance is judged anew at the real time,
// see messages.Gate. Its place is remembered until it ends.
//
// With a Hold an account pays for a place, see package quota: the charge is held
// first, the change names the hold in the record, and the hold is settled. An open
// hold is resolved by reading the record.
//
// With a Share an account has at most so many of a user's places in a day, and what its policy's
// AccountShare says of each rule. The hold under which a place was taken says whose it is; the
// scripts read it only where it matters. Only Reserve, Check, Move and NextFree ask it: late
// messages and those that are placed again under other rules have been accepted.
//
// # Boundaries
//
// The package knows no accounts, charges, notices, delivery or queue. It holds no
// timers. Other limiters have packages of their own: counters, rate, quota.
package sendlimit
