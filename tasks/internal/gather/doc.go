// Package gather does the calls of concurrent callers in groups, so that they share round
// trips. A call is done at once while fewer groups run than may: a single caller is no
// slower. What comes meanwhile makes the next groups.
//
// A group that takes long makes room for another one, which uses another connection; where
// all take long, no more are begun. A caller waits for as long as its own context, and a
// group runs for as long as one of its callers waits. The package does not know what the
// calls are.
package gather
