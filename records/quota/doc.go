// Package quota charges accounts for the messages that they submit, against the
// limits of their tiers, and throttles, against the limits of categories.
//
// Charges counts each account's messages in the natural hour and day of their
// send times, and each throttle's in the minute or hour. An account, a throttle and a user
// may live on three servers of a cluster, so that no script can change all of them. A change of a timeline is therefore made in three
// steps, and a program may die after any of them:
//
//  1. Hold charges the account and the throttle and keeps a hold of each, or
//     says that one of them is used up. Both have the same attempt.
//  2. Timeline.Reserve, Move or Release makes the change with that
//     hold, within a limited time. The message's record names the
//     hold's attempt.
//  3. Settle ends the hold. The charge stays if the change was made,
//     and is given back otherwise.
//
// # Cancels
//
// The record of a cancelled message is kept for a while, without its content, and what is kept
// counts. So a day gives back as many cancelled messages as the tier has messages in it, and those
// that are cancelled after them stay charged. Without a limit of the day, the hour does so. An
// account can therefore have records of at most twice what it may send. A count of records for
// each account would need a change in its partition whenever one expires; and a refusal by this
// one is that of any quota, for a submit, a dry run and a free time alike. Moves always give back:
// they make no record.
//
// # Time zones
//
// The hours and days are those of the account's time zone. If that is changed in the
// middle of a day, the day under way ends where it ends in the former zone, and nothing
// is won by the change. A send time before that end counts in the hours and days of the
// former zone, a later one in those of the new zone. The first day in the new zone is the
// rest of the natural day that is under way there at that moment: it may be short, and has
// a whole quota. What was charged stays charged to the hours and days of its time: a
// message that was scheduled for a later day before the change counts in the former
// zone's day, and one that is scheduled after it in the new zone's.
//
// HoldEach makes the holds of several messages of an account in one call, each judged beside
// those before it, and Settle ends the holds of a partition in one call: many cost the store
// much less than as many calls.
//
// The holds of a call are stored in one key, with a state for each. Due lists the calls with holds
// that nobody settled. Resolve settles those of a call by reading the records: each shows whether
// its change was made.
//
// The attempt names the throttle and its period, and stands in the record. A move or a
// cancel therefore gives back what was charged, whatever the policy says by then, and the
// record needs no other field. A move from one throttle to another has a third hold, in the
// former throttle's partition: the record keeps such attempts when the next change comes.
// With an account and long names, the attempt is longer than 64 bytes, beyond which Redis
// stores a record less compactly.
//
// TakeLines counts the lines of an account's batches as they come, in a bucket that fills
// evenly with its tier's LinesPerMinute.
//
// Usage says how much is charged, NextOpen when account and throttle have messages left, and
// Rehearsal answers for a dry run of one or many messages.
//
// The package does not know queues, deliveries or HTTP. A refusal is a Charge,
// not an error. Errors: *fault.InvalidError, *fault.UnavailableError,
// fault.ErrReply. While Redis is away nothing is charged and nothing accepted.
package quota
