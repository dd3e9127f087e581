// Package pipeline sends the scripts of concurrent callers to Redis in shared pipelines, so
// that they share round trips. A script is sent at once while fewer than two pipelines run:
// a single caller is no slower. What comes meanwhile makes the next pipelines.
//
// Each master of a cluster has pipelines of its own: one that does not answer holds up only
// its own callers. A pipeline that takes long makes room for another one, which uses another
// connection; where all take long, no more are sent. A caller waits for as long as its own
// context.
//
// Each command of a pipeline has an error of its own, as if it was sent alone. If the
// connection fails in the middle, the commands with an answer keep it, and the others may
// have been run. The client library repeats a pipeline that failed at its connection, also
// what was run before. So scripts must be safe to repeat, as they must be without pipelines.
// A script that is sent alone, or after its caller's context, behaves as in the client.
//
// Commands other than EVAL and EVALSHA are sent as they are. The package does not know any
// script.
package pipeline
