// Package find finds messages without their users: by id, or by common properties.
//
// The scripts that accept a message keep an index, two lists in each partition:
//
//	ids        every record, by a hash of the message's id
//	campaigns  those with a campaign, by a hash of the campaign and the account
//
// A list has parts: a head while it is short, shards by a hash of the id, and one for long members.
// Each part is ordered by score and member, which do not change while the message is known: an
// index of send times would change with each move. So a walk through the parts in order meets each
// message that exists during the whole walk exactly once, and a Cursor is a place in that order.
// Other messages may be met or not.
//
// Index.Page walks through the fewest partitions and parts that the Filter allows, reads the
// records of their messages, and selects those of the Filter. The order has no meaning for a
// caller. A page reads about MaxLooked entries, so that a call takes milliseconds: if few messages
// match, pages are short or empty, and have a cursor until the end. With a user, a page reads one
// partition; with an id, three parts of each; with a campaign, only its messages.
//
// An entry whose record has expired is stale. Readers skip and remove stale entries, Index.Sweep
// removes the others. A script removes an entry only if the record does not exist: a message that
// was submitted again keeps it. Such a message may have a second entry, in its shard beside the
// head. Walks skip it, and Sweep removes it.
//
// With Options.WithoutIndex there are no ids, and ErrIndexOff is returned if they are needed.
// Records from before the index was turned on are not in it.
//
// The package knows records, but neither requests nor API keys.
package find
