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
// A submit refreshes the policies, holds the account's charge, takes the place with
// Timeline.Reserve, waits for the replicas and hands the message to the queue. Accepted
// means stored: the relay finds messages that the queue did not get.
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
