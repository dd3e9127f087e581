// Package forecast counts pending messages by send time, over all users, for an operator's
// dashboard.
//
// The watch lists have every pending message. In a far list the time of an entry is the send time
// minus the horizon, so a script counts those lists in the store, and returns a few numbers for
// each partition. The times in a near list have several meanings, so the send time is read from
// each record. Near lists have messages that are due within minutes, are being sent, or are
// overdue.
//
// Look reads the last forecast, and starts a new count if it is old. Nothing is counted without a
// Look. A count has two parts, each with its own pace:
//
//	near    messages due until the end of the 24 hours of Forecast.Hours, overdue
//	        messages, and the number of all pending messages
//	later   the hours of the heat map after that
//
// # Cost
//
// The near part reads far lists only up to its end, and their lengths. So its cost depends on the
// messages due within 24 hours, and the number of lists: with a million messages over 30 days it
// needs about 0.14 s of the store's time, 0.04 s of it for 16,384 lists. A message in a near list
// costs two microseconds. The later part needs about a microsecond a message. Both use calls and
// pipelines of a millisecond. An empty store needs a millisecond.
//
// One of several callers counts at a time. After a count the near part rests for 300 times as long
// as it took, at least 5 seconds, and the later part for 700 times as long, at least a minute. So
// both parts together need less than 0.5 % of the store's time, however many messages are pending;
// the numbers get older instead. A Look without a count needs two commands of a few microseconds.
//
// # Exactness
//
// If nothing changes during a count, it is exact. A message that is moved or handed over meanwhile
// may be counted at its former time, twice or not at all. The same is true of a message that moves
// between the two parts between their counts: until the later hours are counted again, Heat may
// have it twice or not at all. Pending, Overdue, Minutes and Hours are from the near count only.
// Forecast.HeatAt is the time of the later count.
//
// A message that was accepted by a program with another horizon is counted at a wrong time until it
// is near. An entry that this program can't read, and one whose record was lost, is not counted in
// a near list.
package forecast
