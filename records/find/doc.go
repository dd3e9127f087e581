// Package find finds messages without their users: by id, or by what they have in common.
//
// The scripts that accept a message keep an index, two lists in each partition:
//
//	ids        every record, by a hash of the message's id
//	campaigns  those with a campaign, by a hash of the campaign and the account
//
// A list has parts: a head that takes entries while it is short, shards by a hash of the id,
// and one for long members. Each part is ordered by score and member. None of these changes for
// as long as the message is known, whatever becomes of it: an index of send times would change
// with each move. So a walk through the parts in order meets each message that is there from
// its start to its end exactly once, and a Cursor is a place in that order. A message that is
// accepted or forgotten meanwhile may be met or not.
//
// Index.Page goes through the lists of the fewest partitions and parts that the Filter allows,
// reads the records of what it meets, and keeps what the Filter wants. The order means
// nothing to a caller. A page looks at about MaxLooked entries, so that a call takes
// milliseconds: if few messages match, pages are short or empty, and have a cursor until the
// end. With a user, a page looks at one partition; with an id, at three parts of each; with a
// campaign, only at messages of it.
//
// An entry whose record has expired is stale. Readers skip and remove the ones they meet,
// Index.Sweep those that nobody meets. A script removes an entry only if the record is not
// there: a message that was submitted anew keeps it. Such a message may have a second entry,
// in its shard beside the head. Walks skip it, and Sweep removes it.
//
// With Options.WithoutIndex there are no ids, and ErrIndexOff says so where they are
// needed. Records that were written before the index was on are not in it.
//
// The package knows what records say, and nothing of requests and accounts' keys.
package find
