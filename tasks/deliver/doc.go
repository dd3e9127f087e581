// Package deliver takes a due task to a settled delivery.
//
// Handler.Handle waits for one message's time, for a delivery slot and for a permit
// of the Pacer. It claims the message, which judges a late one again, gives it to the
// notifier and settles the result: delivered, tried again later, or failed.
//
// # Recipients
//
// A message goes to the devices of its user, which the claim returns, and to the worker's
// targets; its `to` may name some of them. All calls are made at the same time. The message's
// progress has the finished recipients: the next attempt goes to the others only. The
// results make one outcome:
//
//	a recipient is tried again        retried; it counts as an attempt if one of them counts
//	else one got it                   delivered
//	else one may have got it          uncertain
//	else a provider refused it        failed
//	else there is no device           dropped
//
// A message that has reached a recipient counts. It is tried on the others until the user's next
// message is due, and when it is late only at a time that the rules leave free.
//
// # Accounts beside each other
//
// Accounts share the delivery slots, those of each channel, and the turns to ask for a permit:
// see Slots. A free one goes to the account with the fewest, and within it to the campaign
// with the fewest. While several accounts are active, each has at most three quarters of the
// delivery slots. So an account that needs less than an equal share does not wait for others.
// Package queue bounds what is read ahead.
//
// # Channels beside each other
//
// A worker with one channel waits for its pace, and for the end of a pause or a stop, before it
// claims a message. With several channels, only the claim shows which ones a message needs. A
// recipient whose channel is stopped, paused, paced or busy is then put back for
// the expected time. A channel has at most three quarters of the
// delivery slots, so a provider that never answers does not hold up the others.
//
// # Leases
//
// A claim takes a lease on the message: the notifier's timeout plus a margin. If the worker dies,
// another one takes the message after the lease.
// While the store is away, the worker keeps the task and tries again. If only the message's node of
// a cluster is away, the task goes back to the queue. Neither a kept task nor a result that waits to
// be stored has a delivery slot.
//
// The claims and settlements of concurrent deliveries share pipelines, see package gather.
//
// The package does not know the outbox: notices are delivered by package announce.
//
// # Pace
//
// All workers share the pace of all messages, PaceTarget, and that of each channel,
// ChannelPace. After a time without deliveries a rate begins at a tenth and rises to the full one
// over the channel's ramp: providers ask for that. The handler waits for the pace before the
// claim, and a longer wait holds no delivery slot. If the gate says no, the permit is
// given back. If the claim, or a wait after it, took so long that the call would belong to the next
// interval, the call gets another permit, or the message is given back to be judged again.
// A call and its span begin when both permits are in time, right before the notifier
// is called. The calls of one message share the permit of all messages while it
// is in time. If none begins, it is given back.
//
// # Targets that refuse calls
//
// A target that answers "too many requests" is paused for as long as it asks. A pause is not enough: all
// workers would begin together at its end, and most calls would be refused again. So the workers
// learn a rate for the target, see rate.Learned, which holds beside its pace: the lower of both
// counts. The target is the one that is paused: all messages if the worker has one channel, because
// these wait before the claim; else the channel, or a host of it. A token bucket keeps to the rate,
// since it changes each second and need not be exact. The store is told when the rate was used up,
// once a second, and of the first refusal under each rate. A target that was never refused makes no
// call for all this: its learned rate is read with its pace.
//
// A refusal of too many calls is no attempt. If a provider does not say whether it limits one device or all
// calls, see type unclear.
package deliver
