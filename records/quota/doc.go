// Package quota charges accounts for their messages, against the limits of their tiers, and
// throttles, against the limits of categories.
//
// Charges counts each account's messages in the natural hour and day of their send times, and each
// throttle's in the minute or hour. An account, a throttle and a user may be on three servers of a
// cluster, so no script can change all of them. A change of a timeline is therefore made in three
// steps, and a program may die after any of them:
//
//  1. Hold charges the account and the throttle and keeps a hold of each, or refuses if one is
//     used up. Both have the same attempt.
//  2. Timeline.Reserve, Move or Release makes the change with that hold, within a time limit. The
//     message's record has the hold's attempt.
//  3. Settle ends the hold. The charge stays if the change was made, and is given back otherwise.
//
// # Cancels
//
// The record of a cancelled message is kept for a while, without its content, and counts for a
// while. So a day gives back as many cancelled messages as the tier allows in it, and later
// cancelled ones stay charged. Without a daily limit, the hour does so. An account can therefore
// have records of at most twice what it may send. A count of records for each account would need a
// change in its partition whenever one expires; this refusal is that of any quota, for submits, dry
// runs and free times alike. Moves always give back, since they create no record.
//
// # Time zones
//
// The hours and days are those of the account's time zone. If that changes in the middle of a day,
// the current day ends when it ends in the former zone, so the change brings no advantage. A send
// time before that end counts in the hours and days of the former zone, a later one in those of the
// new zone. The first day in the new zone is the rest of the natural day at that moment: it may be
// short, and has a whole quota. Existing charges stay: a message that was scheduled for a later day
// before the change counts in the former zone's day, and one that is scheduled after it in the new
// zone's.
//
// # Calls and holds
//
// HoldEach makes the holds of several messages of an account in one call, each judged with those
// before it, and Settle ends the holds of a partition in one call. This costs the store much less
// than separate calls.
//
// The holds of a call are stored in one key, with a state for each. Due lists the calls with
// unsettled holds. To resolve them, Resolve reads the records: each shows whether its change was
// made.
//
// The attempt contains the throttle and its period, and is stored in the record. A move or a cancel
// therefore gives back the charge, whatever the policy says by then, and the record needs no other
// field. A move from one throttle to another has a third hold, in the former throttle's partition:
// the record keeps such attempts until the next change. With an account and long names, the attempt
// is longer than 64 bytes, from which on Redis stores a record less compactly.
//
// TakeLines counts the lines of an account's batches, in a bucket that fills evenly with its tier's
// LinesPerMinute.
//
// Usage returns the charges, NextOpen the next time at which account and throttle have messages
// left, and DryRun the result of a dry run of one or many messages.
//
// The package knows neither queues nor deliveries nor HTTP. A refusal is a Charge, not an error.
// Errors: *fault.InvalidError, *fault.UnavailableError, fault.ErrReply. If Redis is unavailable,
// nothing is charged or accepted.
package quota
