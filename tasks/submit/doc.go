// Package submit accepts messages, and changes accepted ones.
//
//	Submit      judges a message and takes its place, or says why not
//	Check       returns the answer that Submit would give
//	Move        gives a message another send time
//	Cancel      cancels a message
//	RecordSent  records a message that something else has sent
//	Status, List, Usage, NextFree   read
//	StartDryRun begins a dry run of many messages
//
// A submit refreshes the policies, holds the charges of the account and of the category's throttle,
// takes the place with Timeline.Reserve, waits for the replicas and puts the message into the
// queue. Accepted means stored: the relay finds messages that the queue did not get.
//
// The quota is checked before the throttle, and both before the user's rules: a charge is held
// before the timeline judges. Answers that need no charge take precedence: a replay, a past or
// quiet time, a blocked user, an unknown category.
//
// One search finds free times, see freeTimes. It alternates between the next period in which quota
// and throttle have messages left, and the user's next free time, until one time is free for all
// limits. Refusals name such times, and a shift uses them. A submit at a named time is accepted if
// nothing changed in between. A dry run is a submit that charges and writes nothing. Usage and
// NextFree ignore quotas and throttles. So do late messages, retries of dead letters and
// RecordSent: the charge of an accepted message stays in its first period.
//
// If several accounts are active, submits and moves of an account's message are also limited to its
// share of the user's places of that day, see sendlimit.Share. The number of accounts is cached for
// ten seconds.
//
// Options.CheckChannel checks a message's content for the channels that it names, and a large
// message also for the channels of its user's devices, which costs a read. The channel of a device
// that is registered later may refuse a message that is too large.
//
// A change of a charged message is retried if its hold did not cover it. The relay settles a hold
// with an unknown outcome.
//
// FollowZone reads the local time of a message anew when its user's own time zone has changed, and
// moves it. A script can't: only Go has the zones. So the gate sends no message whose time was read in
// a former zone, but asks for this first. That closes the gap between the change and its end, also
// if the program that makes it dies, without a lock over the user's messages.
//
// Answers are Outcomes, even for refusals and invalid messages. An error means that the store did
// not answer, or that the context ended. The same message with the same id can then be submitted
// again.
//
// The package knows no notifier.
package submit
