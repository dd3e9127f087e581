// Package gather does the calls of concurrent callers in groups, so that they share round
// trips. A call is done at once while fewer groups run than may: a single caller is no
// slower. What comes meanwhile makes the next groups.
//
// A group that takes long makes room for another one, which uses another connection; where
// all take long, no more are begun. A caller waits for as long as its own context, and a
// group runs for as long as one of its callers waits. A Gatherer does not know what the calls are.
//
// A Client sends the scripts of concurrent callers to Redis so, in shared pipelines: each master
// of a cluster has pipelines of its own, and one that does not answer holds up only its own
// callers.
//
// Each command of a pipeline has an error of its own, as if it was sent alone. If the
// connection fails in the middle, the commands with an answer keep it, and the others may
// have been run. The client library repeats a pipeline that failed at its connection, also
// what was run before. So scripts must be safe to repeat, as they must be without pipelines.
// A script that is sent alone, or after its caller's context, behaves as in the client.
//
// Commands other than EVAL and EVALSHA are sent as they are. The package does not know any
// script.
package gather
