// Package announce delivers notices: quota alerts, digests and daily reports.
//
// A notice stays in the outbox of records/notices until it is delivered or has failed for good.
// Announcements handles its task. Several workers may get the same notice: only the one that
// claims it delivers it.
//
// NoticeJobs are the jobs that every worker repeats: they hand due notices to the
// queue, make digests, and put the report of the past day into the outbox, once for each account,
// at the time that the account has set.
//
// The package knows no timeline. Package deliver delivers messages.
package announce
