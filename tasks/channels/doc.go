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
// # Refusals
//
// A provider that refuses us may mean the credentials, or one message: a firewall in front of a
// webhook refuses a title. A caller must not stop a channel for all with such a message. So the
// next success tells, since it comes only if the credentials are right:
//
//	refused for the first time                   the message waits, and the attempt does not count
//	refused again, and no success between        the same
//	refused again, and another was accepted      the message's own failure: the attempt counts
//	messages of 3 users, and no success between  the channel is stopped
//
// Where two accounts have sent within five minutes, the refused messages have to be of two. Workers
// tell each other of successes each second, so a stop comes at the soonest two seconds after the
// first refusal. Wrong credentials cost no message an attempt: none counts before a success.
//
// # Stopped channels
//
// A channel is stopped alone, for all workers with the credentials that were refused. Its messages
// wait. After five seconds, and then once a minute, one worker asks the provider with a
// notifier.Prober, and resumes the channel when it accepts. A channel without a Prober, such as a
// webhook, lets a message through, and those first that were not refused before. The first message
// of an account whose messages were not refused goes at once: what others earned must not hold it
// up, and its success resumes the channel. Other credentials
// are tried at once, also when they are read again from their file.
//
// Store keeps the states: all are fields of one small hash, which workers read about once a second.
//
// # The brake
//
// A wrong project, key or environment makes a provider call every device gone. Dormant users do so
// too, for their own. So the brake looks at the last 100 answers:
//
//	no success yet with these credentials      the device is suspect, and its message waits
//	the same, and 50 devices are gone          the channel is stopped
//	50 answers, more than 20 % call one gone   the device is suspect, and its message is done with it
//	else                                       the device is removed
//
// A device counts once, and a user five times. The third line never stops what also succeeds: it is
// told of, by account and campaign. A success is remembered in the store with the identity of the
// credentials: after a restart, one dead device need not wait for somebody else's success. Other
// credentials have to prove themselves anew. A channel that the brake has stopped lets a message a
// minute through to a device that is no suspect, and a success resumes it.
//
// # What it does not know
//
// How a message is delivered, paced and settled is package deliver's.
package channels
