// Package devices keeps where a user's messages go: apps on phones, and browsers.
//
// A Store registers, lists and removes the devices of a user, and notes what their providers
// say of them: accepted, gone, or suspect. It does not know what a push is: see package
// notifier. Each change is one script in the user's partition.
//
// # Registering
//
// An app registers its device each time that it starts. So the same device is registered once:
// by its id, which is made of account, channel and address if the caller has none, and by its
// address. Complete brings an address into the one spelling that equal addresses share. What
// takes the place of another device keeps that one's position; with another address it has
// no success yet.
//
// # Accounts
//
// A device belongs to the account that registered it, or to none: then it is everybody's.
// Messages of an account go to its own devices and to those of none, see Device.For. One
// account neither sees nor replaces nor removes what another one registered: two accounts may
// have the same address, under two ids. A device of none and one of an account never have the
// same address, so no message reaches a device twice: the last one registered takes the place.
//
// # Owners
//
// A phone has one user at a time. So the same address of the same account moves to the user who
// registers it last, unless the store is Shared. The users are in different partitions, which no
// script can change together. Therefore the store knows the owners of each address:
//
//	claim it ─► register the device ─► take it from the owners before ─► settle the claim
//
// A claim that is not the last one when it is settled is made again, so the last one wins. Each
// user who may have an address has a claim of it at any time, also if programs die: whoever
// registers the address next takes it from all of them. If the owner registers again, the store
// only looks at the claim, before and after.
// A removed device is claimed for nobody in the same way. A claim may stay without a device, if
// a program died, or if one user's device was removed and registered at the same moment. The next
// registration of the address removes it. Addresses are known by 96 bits of their SHA-256. A claim
// takes about 60 bytes.
//
// # Counts
//
// An account may have at most a number of devices of all users, which Add is told. Its users are
// in all partitions, which a cluster has on several servers. So no script can count all of them,
// and a number that is added to and taken from would drift with each program that dies in between.
// Instead each place has numbers that can be told again:
//
//	script: devices of a user ─► counts of the partition ─► program: devices of the account
//
// The script that changes devices changes the counts of its partition too, of the user and of the
// account. The program then notes the new count of the partition, not the difference, beside those
// of the others and their sum. It looks again whether the count still holds, so the last of several
// programs notes the present one. What a dead program did not note, the next change in the
// partition does, or Sweep. A torn log counts too many, never too few: Sweep counts each user
// again that has a count.
//
// So that many at once do not pass the bound, a device that the account would have in addition
// needs a hold, under which it is registered and noted. Who registers a device again needs
// none, and no call more. A hold of a dead program ends after 10 seconds; by as many devices as
// programs died between registering and noting, an account may pass its bound until Sweep.
//
// Devices that a former release registered are counted when they are registered again. A count
// takes 75 bytes for each user and account.
//
// # Invariants
//
//   - The ids of a user's devices differ, and at most Most are of one account. So no account
//     takes the room of another.
//   - Two devices with one address belong to two accounts, whoever their users are, unless the
//     store is Shared.
//   - Once nothing runs and Sweep has, the counts are those of the devices.
//   - RemoveGone removes only what still has the address that was sent to, and was not
//     registered after the time that the provider says.
//   - A device without a call of Remove or RemoveGone stays, also if the bound of its account
//     is lowered: the key does not expire. Erasing the user removes it, see tasks/userdata.
//   - An address never comes into a log or an error, nor into what a Device prints as.
//
// # Format
//
// All devices of a user are one STRING in the user's partition, so that a claim reads them with
// one GET. Each is a line, in the order in which they were added; a newline stands between two.
// A line has eight fields, with one space between two. A field may be empty, and none has a space:
//
//	id          1 to 64 of A-Z a-z 0-9 . _ -
//	channel     f fcm, a apns, w webpush; a capital if the device is suspect
//	registered  when it was registered last, Unix seconds in base 36
//	success     the hour of its last success, Unix hours in base 36; "" for none
//	app         "" if the user has only one
//	locale      "" for unknown
//	account     the account that registered it; "" for none
//	address     printable ASCII; JSON for webpush
//
// A script reads a line with the pattern
// '^(%S+) (%a) (%w+) (%w*) (%S*) (%S*) (%S*) (%S+)$', see lua/fragments/devices.lua. Scripts keep
// lines that they can't read; Decode returns an error for them.
package devices
