// Package forecast counts how many pending messages are due when, over all users, for an
// operator's dashboard.
//
// The watch lists have every pending message. In a far list the time of an entry is the send
// time less the horizon, so a script counts those lists where they are, and returns a few
// numbers for each partition. The times in a near list mean different things, so there the
// send time is read from the record of each message. Near lists have what is due within
// minutes, what is being sent, and what is overdue.
//
// # Cost
//
// A message in a far list takes the store about a microsecond, one in a near list two: a
// million far messages take a second, in calls and pipelines of a millisecond. An empty store
// takes a millisecond. Keep lets one of several workers count, and then nobody for 250 times
// as long as that took, at least 5 seconds and at most 5 minutes. So it stays under 0.4 % of
// the store's time up to some 1.2 million messages, and takes as much more for each further
// million. Latest reads the result in one GET.
//
// # Exactness
//
// If nothing changes during a count, it is exact. What is moved or handed over meanwhile may
// be counted at its former time, twice or not at all. A message that was accepted by a
// program with another horizon is counted as much too early or late until it is near. An
// entry that this program can't read, and one whose record was lost, is not counted in a
// near list.
package forecast
