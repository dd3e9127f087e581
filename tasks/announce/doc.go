// Package announce delivers notices: quota alerts, digests and daily reports.
//
// A notice lies in the outbox of records/notices until somebody was told, or
// until it failed for good. Announcements takes a notice from the queue, claims it,
// finds its contact, tells the contact and settles the result. A notice that no
// channel is set up for waits in the outbox. Several workers may get the same
// notice: the claim lets one of them deliver it.
//
// NoticeJobs are the jobs that every worker repeats: they hand due notices to the
// queue, gather digests and put the daily reports. Reports puts a report for the past day
// into the outbox, once for each account, at the time that the account has set.
//
// The package knows no timeline. A push is delivered by package deliver.
package announce
