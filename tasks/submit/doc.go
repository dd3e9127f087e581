// Package submit accepts messages, and changes what was accepted.
//
//	Submit      judges a message and takes its place, or says why not
//	Check       returns what Submit would answer
//	Move        gives a message another send time
//	Cancel      cancels a message
//	RecordSent  records a message that something else has sent
//	Status, List, Usage, NextFree   read
//	Rehearse    begins a dry run of many messages
//
// A submit refreshes the policies, holds the charges of the account and of the category's
// throttle, takes the place with Timeline.Reserve, waits for the replicas and hands the
// message to the queue. Accepted means stored: the relay finds messages that the queue did
// not get.
//
// The quota comes before the throttle, and both come before the user's own rules: a charge
// is held before the timeline judges. Answers that need no charge come first: a
// replay, a past or quiet time, a blocked user, an unknown category.
//
// One search finds free times, see freeTimes: it goes from the next period of the quota and the
// throttle with messages left to the user's next free time from there on, and so on until one
// time is free for all limits. Refusals name such times, and a shift takes them. A submit at a
// time that a refusal named is accepted if nothing happened in between. A dry run is a submit
// that charges and writes nothing. Usage and NextFree do not ask quotas and throttles. Nor do
// late messages, retries of dead letters and RecordSent: what was accepted stays charged where
// it was accepted.
//
// Where several accounts are active, a submit and a move of an account's message also ask for its
// share of the user's places of that day, see sendlimit.Share. Whether there are several is known
// for ten seconds.
//
// Options.CheckChannel checks a message's content for the channels that it names; it checks a large
// message for the channels of its user's devices, too, which costs a read. A device that
// is registered later may have another channel, which refuses a message that is too large.
//
// A change of a charged message is tried again if its hold did not cover it. The relay
// settles a hold whose outcome is unknown.
//
// Answers are Outcomes, also for refusals and invalid messages. An error means that the
// store did not answer, or that the context ended. The same message with the same id can
// then be submitted again.
//
// The package knows no notifier.
package submit
