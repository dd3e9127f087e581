// Package notices keeps the outbox: what is to be said to contacts.
//
// A Notice is about a quota that reached a threshold, or is a digest or a daily
// report. The scripts that count put alerts into the outbox; Put and Digest put
// the others. A notice goes to one delivery at a time: Claim takes it, Renew
// prolongs the lease, Settle says how that ended. Due lists the notices that nobody settled, Confirm notes
// that the queue has them. A notice that failed stays among the dead ones, where
// ListDead, RetryDead and PurgeDead reach it.
//
//	put -> pending -> claimed -> delivered, dropped or failed
//	          ^          |
//	          +- retry --+
//
// Each notice is announced once. If a process dies between the answer of the mail
// server and Settle, it is announced once more, under the same id.
//
// The package does not know mail, webhooks or queues, and nothing of messages or
// timelines. Errors: *fault.InvalidError, *fault.UnavailableError,
// fault.ErrReply.
package notices
