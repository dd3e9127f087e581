// Package gather makes the calls of concurrent callers in groups, which share round
// trips. A call is made at once while fewer groups run than may: a single caller is no
// slower. Calls that come meanwhile make the next groups.
//
// A slow group makes room for another one, which uses another connection, but not if
// all are slow. A caller waits as long as its own context, and a
// group runs as long as one of its callers waits.
//
// A Client sends the scripts of concurrent callers to Redis in shared pipelines. Each master
// of a cluster has its own pipelines: one that does not answer holds up only its own callers.
//
// Each command of a pipeline has its own error. If the
// connection fails, the commands with a reply keep it, and the others may
// have run. The client library repeats a pipeline whose connection failed, including commands
// that have run. So scripts must be safe to repeat, as they must be without pipelines.
//
// Commands other than EVAL and EVALSHA are not gathered.
package gather
