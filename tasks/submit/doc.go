// Package submit accepts messages, and changes what was accepted.
//
//	Submit      judges a message and takes its place, or says why not
//	Check       says what Submit would answer
//	Move        gives a message another send time
//	Cancel      takes a message back
//	RecordSent  records a message that something else has sent
//	Status, List, Usage, NextFree   read
//	Rehearse    begins a dry run of many messages
//
// A submit goes this way: the policies are refreshed, the account's charge is held,
// Timeline.Reserve takes the place, the replicas are waited for, and the queue gets
// the message. Accepted means stored: the relay finds what the queue did not get.
//
// A change of a charged message is tried again where its hold did not cover it. A
// hold whose outcome is unknown is left to the relay.
//
// Answers are Outcomes, refusals and invalid messages included. An error means that
// the store did not answer, or that the context ended. The same message with the
// same id can then be submitted again.
//
// The package knows no notifier.
package submit
