// Package channels has the state of a worker's channels: whether one
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
