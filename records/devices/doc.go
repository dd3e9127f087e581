// Package devices stores the devices that receive a user's messages: apps on phones, and browsers.
//
// A Store registers, lists and removes the devices of a user, and notes the answers of their
// providers: accepted, gone, or suspect. It knows nothing of pushes: see package notifier. Each
// change is one script in the user's partition.
//
// # Registering
//
// An app registers its device each time that it starts. A device with a known id or address
// replaces the old one, and keeps its position. With a new address, its last success is cleared.
// If the caller gives no id, Complete generates one from account, channel and address. It also
// gives equal addresses the same spelling.
//
// # Accounts
//
// A device belongs to the account that registered it, or to no account. An account's messages are
// sent to its own devices and to those without an account, see Device.For. An account can't see,
// replace or remove the devices of another account. Two accounts may have the same address, under
// two ids. A device without an account never shares its address with a device of an account: the
// last one registered replaces the other. So no message reaches a device twice.
//
// # Owners
//
// A phone has one user at a time. So an address of an account moves to the user that registers it
// last, unless the store is Shared. The users may be in different partitions, which no script can
// change together. Therefore the store knows the owners of each address:
//
//	claim it ─► register the device ─► take it from the owners before ─► settle the claim
//
// If a newer claim exists when a claim is settled, it is made again, so the last one wins. Each
// user that may have an address has a claim of it at any time, even if programs die: the next
// registration of the address takes it from all of them. If the owner registers again, the store
// only reads the claim, before and after. If its program dies in between while another one removes
// the device, the device has no claim until the next Sweep.
//
// A removed device is claimed for the user "" in the same way. A claim without a device may
// remain if a program died, or if a user's device was removed and registered at the same moment.
// The next registration of the address removes it. A claim stores 96 bits of the address's
// SHA-256, and takes about 60 bytes.
//
// # Counts
//
// Add takes the maximum number of devices that an account may have, of all users. The users are in
// all partitions, which a cluster has on several servers. So no script can count all devices, and
// a counter with increments would drift with each program that dies in between. Instead, each
// level has absolute counts:
//
//	script: devices of a user ─► counts of the partition ─► program: devices of the account
//
// The script that changes devices also changes the counts of its partition, for the user and the
// account. The program then notes the partition's new count, not the difference, with those of the
// other partitions and the sum. It reads the count again, so the last of several programs notes
// the current one. If a program dies before it notes a count, the next change in the partition
// does, or Sweep, which counts each user with a count again. After a torn log, a count may be too
// high, never too low.
//
// An additional device of an account needs a hold while it is registered and noted, so concurrent
// registrations don't exceed the bound. Registering a device again needs neither a hold nor an
// additional call. If a program dies during a registration, its hold is over after 10 seconds. Nobody
// knows then whether the device is registered. So the next program that needs a hold counts the
// partition first. If the store's clock steps forward, a hold is over at once, and the account may
// get one device more.
//
// Devices of an older release are counted when they are registered again. A count takes 75 bytes
// for each user and account.
//
// # Invariants
//
//   - The ids of a user's devices differ. Each account has at most Most of them, so no account
//     uses up the room of another.
//   - Two devices with one address belong to two accounts, whoever their users are, unless the
//     store is Shared.
//   - After a Sweep with no other calls, the counts match the devices.
//   - RemoveGone only removes a device that still has the address of the push, and was not
//     registered after the time that the provider says.
//   - A device without a call of Remove or RemoveGone stays, also if the bound of its account
//     is lowered: the key does not expire. Erasing the user removes it, see tasks/userdata.
//   - No log, no error and no printed Device shows an address.
//
// # Format
//
// All devices of a user are one STRING in the user's partition, so that a claim reads them with
// one GET. Each is a line, in the order in which they were added, separated by newlines. A line has
// eight fields, separated by one space. A field may be empty, and has no space:
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
