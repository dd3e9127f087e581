// Package sendlimit limits a user's messages by their send times, ahead of time. A request such as
// "send this to alice at 15:00" is judged as soon as it arrives, against all other messages for
// alice around 15:00.
//
//	rules, err := sendlimit.NewRules(p) // a policy.Policy; nil Rules mean the default policy
//	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: rules})
//	decision, err := timeline.Reserve(ctx, sendlimit.Request{User: "alice", ID: "m1", At: at})
//
// A Timeline keeps each user's send times in Redis and judges them by rules. Sliding rules apply to
// every window of a length ("1/minute"), calendar rules to natural periods ("10/calendar_day").
// Each operation is one Lua script and one round trip; a long search takes more. Any number of
// processes may share a store.
//
//	Reserve     takes a place, or the next free one; or says what is in the way
//	Check       says what Reserve would answer, and writes nothing
//	Move        gives a reservation another place; if refused, it keeps the old one
//	Release     gives a reservation back
//	RecordSent  records a message that another system has sent
//	NextFree    returns the next free times
//	List        returns a user's reservations
//	Usage       returns how full the rules are, and free stretches
//	StartDryRun begins a dry run, judged on copies
//
// A refusal is a Decision, not an error. Errors are *fault.InvalidError, *fault.UnavailableError,
// or fault.ErrReply for a reply that makes no sense. Time is the server's clock; in tests, a
// request's Now replaces it.
//
// # Rules
//
// Rules has the policies. The first applies to every user whose settings name no policy. Settings
// (package settings) may name another policy, replace limits of the same window, set a time zone,
// or block the user. Rules caches settings, and each script compares their version with the
// store's, so a change takes effect immediately. Rules.Replace changes the policies for everything
// that shares one Rules; a call that has begun ends under the policies it began with.
//
// A rule of a category counts the places whose records name that category. A message of an exempt
// category that is not counted takes part in no rule. Quiet hours go by what local clocks show. A
// throttle of a category limits all users together: package quota charges it, and a Timeline with
// records takes no place in the category without that charge. Late and recorded messages do not
// need it.
//
// Reservations keep their places when rules change. They count for as long as the longest window of
// any policy needs; Rules.Remember adds the windows of earlier policies. Places that were forgotten
// under shorter windows stay forgotten under a longer one.
//
// # Records
//
// With Options.Records a message's content and state are stored beside its place, and package
// messages delivers it: Gate, WatchList, Records, DeadLetters. The record is the truth. Each task
// of a queue carries a generation, and only the present one delivers, so a queue need not be able
// to take a task back.
//
// A message that is later than Options.Tolerance is judged again at the real time, see
// messages.Gate. Its place is remembered until it ends.
//
// With a Hold an account pays for a place, see package quota: the charge is held first, the change
// names the hold in the record, and the hold is settled. To resolve an open hold, read the record.
//
// With a Share, an account may have at most Share.Places of a user's places in a day, and of each
// rule's messages what the policy's AccountShare allows. A place counts for the account of the hold
// under which it was taken. Only Reserve, Check, Move and NextFree apply the share: late messages,
// and messages that are placed again under other rules, have been accepted before.
//
// # Boundaries
//
// The package knows no accounts, charges, alerts, delivery or queue. It holds no timers. Other
// limiters have packages of their own: counters, rate, quota.
package sendlimit
