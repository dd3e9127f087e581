// Package quota charges accounts for the messages that they submit, against the
// limits of their tiers.
//
// Charges counts each account's messages in the natural hour and day of their
// send times. An account and a user may live on two servers of a cluster, so that
// no script can change both. A change of a timeline is therefore made in three
// steps, and a program may die after any of them:
//
//  1. Hold charges the account and keeps a hold, or says that its
//     quota is used up.
//  2. Timeline.Reserve, Move or Release makes the change with that
//     hold, within a limited time. The message's record names the
//     hold's attempt.
//  3. Settle ends the hold. The charge stays if the change was made,
//     and is given back otherwise.
//
// Due lists holds that nobody settled. Resolve settles one by reading the record:
// it shows whether the change was made.
//
// Check says what Hold would answer, Usage how much is charged, and Rehearsal
// answers for a dry run of many messages.
//
// The package does not know queues, deliveries or HTTP. A refusal is a Charge,
// not an error. Errors: *fault.InvalidError, *fault.UnavailableError,
// fault.ErrReply. While Redis is away nothing is charged and nothing accepted.
package quota
