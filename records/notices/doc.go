// Package notices keeps the outbox: notices to contacts.
//
// A Notice is an alert about a quota that reached a threshold, a digest or a daily report. The
// scripts that count put alerts into the outbox; Put and Digest put the others. A notice has one
// delivery at a time: Claim leases it, Renew prolongs the lease, Settle records the outcome. Due
// lists notices that nobody settled, Confirm notes that the queue has them. ListDead, RetryDead and
// PurgeDead are for failed notices.
//
//	put -> pending -> claimed -> delivered, dropped or failed
//	          ^          |
//	          +- retry --+
//
// Each notice is announced once. If a process dies between the mail server's answer and Settle, it
// is announced again, under the same id.
//
// The package knows neither mail, webhooks and queues, nor messages and timelines. Errors:
// *fault.InvalidError, *fault.UnavailableError, fault.ErrReply.
package notices
