// Package channels has the state of a worker's channels: whether all sending or one
// is stopped, how many devices its provider calls gone, and which devices are paused.
//
// # Two kinds of channels
//
// A channel with devices, such as fcm, gets a message for each device of its user. A target,
// such as a webhook, gets every message that does not name another channel, an app or a device.
// All workers of a store must have the same channels: a worker sends nothing to devices of a channel
// that it lacks.
//
// # Refusals
//
// A provider that refuses us may mean the credentials, or one message: a firewall in front of a
// webhook refuses a title. Such a message must not stop the channel for all. A success shows that
// the credentials are right:
//
//	refused for the first time                   the message waits, and the attempt does not count
//	refused again, without a success between     the same
//	refused again, after a success               the message's own failure: the attempt counts
//	messages of 3 users, without a success       the channel is stopped
//
// If two accounts have sent within five minutes, messages of two accounts have to be refused.
// Workers share successes each second, so a stop comes at least two seconds after the
// first refusal. With wrong credentials no attempt counts.
//
// # Stopped channels
//
// A stop applies to one channel, for all workers with the refused credentials. Its messages
// wait. After five seconds, and then once a minute, one worker probes the provider with a
// notifier.Prober, and resumes the channel when that succeeds. A channel without a Prober, such as a
// webhook, probes with a message, if possible one that was not refused before. The first message
// of an account whose messages were not refused is sent at once: other accounts must not hold it
// up, and its success resumes the channel. New credentials are tried at once, also when their file
// has changed.
//
// Store keeps the states in one small hash, which workers read about once a second.
//
// # All sending
//
// An operator stops all sending by a field of the same hash. It is no stop of every channel: no
// probe and no success ends it, it applies to every identity, and messages for users without
// devices wait too. Probes without a message go on, so that the channels are ready when sending
// goes on.
//
// A worker checks the stop before the claim and right before each call, by what it has read in the
// last 1.5 seconds: otherwise, as after a stand-still of the process, it looks first. So no call
// begins 2 seconds after a stop. If the store does not answer, the last known state holds: a
// cluster whose master with this hash is away goes on. A message waits in the queue for ten minutes
// or until it expires, and a claimed one is given back unsent. Unlike a stopped channel, it need
// not come back sooner: each worker wakes it when sending goes on, and each that starts.
//
// # The brake
//
// With a wrong project, key or environment, a provider calls every device gone. It rightly does so
// for the devices of dormant users. So the brake looks at the last 100 answers:
//
//	no success yet with these credentials      the device is suspect, and its message waits
//	the same, and 50 devices are gone          the channel is stopped
//	50 answers, more than 20 % are gone        the device is suspect, and does not get the message
//	else                                       the device is removed
//
// A device counts once, and a user at most five times. The third case does not stop the channel: it
// is shown as a Wave, by account and campaign. The store keeps the identity of credentials that have
// succeeded: after a restart, a dead device need not wait for another success. New
// credentials have to succeed first. A channel that the brake has stopped sends one message a
// minute to a device that is not suspect, and a success resumes it.
//
// Package deliver delivers, paces and settles messages.
package channels
