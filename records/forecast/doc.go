// Package forecast counts how many pending messages are due when, over all users, for an
// operator's dashboard.
//
// The watch lists have every pending message. In a far list the time of an entry is the send
// time less the horizon, so a script counts those lists where they are, and returns a few
// numbers for each partition. The times in a near list mean different things, so there the
// send time is read from the record of each message. Near lists have what is due within
// minutes, what is being sent, and what is overdue.
//
// A forecast is counted when somebody looks: Look reads the last one, and has it counted anew
// if it is old. Nobody counts while nobody looks. A count has two parts. Each has its own pace:
//
//	near    what is due until the end of the 24 hours of Forecast.Hours, what is overdue, and
//	        how many messages are pending in all
//	later   the hours of the heat map after that
//
// # Cost
//
// The near part reads far lists only up to its end, and their lengths. So its cost follows
// what is due within 24 hours, and the number of lists: with a million messages over 30 days
// it takes the store some 0.14 s, about 0.04 s of it to look into 16,384 lists. A message in
// a near list costs two microseconds. The later part takes about a microsecond a message.
// Both work in calls and pipelines of a millisecond. An empty store takes a millisecond.
//
// One of several callers counts at a time, however many look. After it nobody counts what is near for 300 times
// as long as that took, at least 5 seconds, and nobody the later hours for 700 times as long
// as these took, at least a minute. So both parts together take less than 0.5 % of the store's
// time, however many messages are pending: what grows is how old their numbers get.
// Beside the counts a Look costs two commands of a few microseconds.
//
// # Exactness
//
// If nothing changes during a count, it is exact. What is moved or handed over meanwhile may
// be counted at its former time, twice or not at all. The same is true of a message that
// moves between the two parts after one was counted and before the other: until the later
// hours are counted again, Heat may have it twice or not at all. Pending, Overdue, Minutes and
// Hours are from the near count only. Forecast.HeatAt says when the later hours were counted.
//
// A message that was accepted by a program with another horizon is counted as much too early
// or late until it is near. An entry that this program can't read, and one whose record was
// lost, is not counted in a near list.
package forecast
