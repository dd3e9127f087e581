// Package messages keeps a message beside its place in the timeline: its content,
// its delivery and its end.
//
// A submit with a Record stores the message in the same script that takes the
// place. From then on the message is pending until one of its tasks delivers it:
//
//		pending --Claim--> sending --Settle--> delivered
//		   ^                  |   \--Settle--> failed, uncertain: a dead letter
//		   |                  |    \-Settle--> dropped (no device)
//		   +---Settle: retry--+        pending --Claim--> dropped (expired, no free time)
//		   +---Claim: postponed        pending --Release--> cancelled
//
//	  - Gate is what a message passes just before its delivery. Claim leases it to
//	    one delivery, and Settle records the outcome.
//	  - WatchList has an entry for each message that has not ended. BringNear, HandOver
//	    and Confirm put messages into the queue when they are due soon. Due and Renew find
//	    messages whose task the queue lost, and deliveries that no worker settled.
//	  - Records reads the state of messages.
//	  - DeadLetters lists, retries and purges messages that were given up.
//
// At most one delivery of a message is settled. A worker that dies after the
// provider took the message and before Settle leaves an uncertain delivery, which
// the next Claim reports.
//
// A message may go to several devices of its user, and be done with some of them when it is
// tried again: that is its Progress. To the rules it is one message. Once it reached a device
// it counts as delivered: it keeps its place, is not judged again, neither moved nor cancelled,
// and ends as delivered where another one would fail, end uncertain or be dropped.
//
// A message that may have arrived counts at its place until it is sent again, which moves the place.
// It is not moved. If it is cancelled, its place counts until the rules forget it.
//
// The package does not know accounts' numbers, notices or the queue.
package messages
