// Package channels has what a worker knows of each channel that it delivers through: whether
// it is stopped, how many devices its provider calls gone, and what is to wait a while.
//
// # Two kinds of channels
//
// A channel with devices, such as fcm, gets a message for each device of its user. A target,
// such as a webhook, gets every message that does not name another channel, an app or a device.
// All workers of a store have the same channels: a message to a device of a channel that a
// worker lacks has no device there.
//
// # Stopped channels
//
// A provider that refuses the credentials stops its channel alone, for all workers. Messages
// wait, and their attempts do not count. Once a minute one worker asks the provider with a
// notifier.Prober, and resumes the channel when it accepts. A channel without a Prober, such as
// a webhook, lets one message a minute through.
//
// # The brake
//
// A wrong project, key or environment makes a provider call every device gone. So the brake
// looks at the last 100 answers:
//
//	no success yet with these credentials      the device is suspect, and its message waits
//	the same, 50 answers                       the channel is stopped
//	50 answers, more than 20 % call one gone   the channel is stopped, and nothing is removed
//	else                                       the device is removed
//
// A device counts once. A success is remembered in the store with the identity of the
// credentials: after a restart, one dead device need not wait for somebody else's success. Other
// credentials have to prove themselves anew, also when they are read again from their file.
// Only an operator resumes a channel that the brake has stopped.
//
// # What it does not know
//
// How a message is delivered, paced and settled is package deliver's. The stored states are
// those of package sendlimit/channels.
package channels
