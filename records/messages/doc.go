// Package messages keeps a message beside its place in the timeline: its content, its delivery and
// its end.
//
// A submit with a Record stores the message in the script that takes the place. Then the message is
// pending until one of its tasks delivers it:
//
//		pending --Claim--> sending --Settle--> delivered
//		   ^                  |   \--Settle--> failed, uncertain: a dead letter
//		   |                  |    \-Settle--> dropped (no device)
//		   +---Settle: retry--+        pending --Claim--> dropped (expired, no free time)
//		   +---Claim: postponed        pending --Release--> cancelled
//
//	  - Gate is the check just before a delivery. Claim leases a message to one delivery, and
//	    Settle records the outcome.
//	  - WatchList has an entry for each message that has not ended. BringNear, HandOver and
//	    Confirm put messages into the queue when they are due soon. Due and Renew find
//	    messages whose task the queue lost, and deliveries that no worker settled.
//	  - Records reads the state of messages.
//	  - DeadLetters lists, retries and purges messages that were given up.
//
// At most one delivery of a message is settled. A worker that dies after the provider accepted the
// message and before Settle leaves an uncertain delivery, which the next Claim reports.
//
// A message may go to several devices of its user, and have ended for some of them when it is
// retried: that is its Progress. For the rules it is one message. After it reached a device it
// counts as delivered: it keeps its place, is not judged again, can't be moved or cancelled, and
// ends as delivered where another one would fail, end uncertain or be dropped.
//
// A message that may have arrived counts at its place until it is sent again, which moves the
// place. It can't be moved. If it is cancelled, its place counts until the rules forget it.
//
// The package knows neither quotas nor notices nor the queue.
package messages
