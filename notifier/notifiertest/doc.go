// Package notifiertest has what tests of delivery need: the suites that every
// channel passes, and two stand-ins.
//
//	Run        holds a channel against what package notifier promises
//	RunHTTP    the same for a channel over HTTP, with every status and many faults
//	Recorder   a channel that remembers what it was given and answers as told
//	Receiver   a webhook's server that remembers what it was sent and answers as told
//
// The stand-ins need no *testing.T, so that benchmarks and programs can use
// them too.
package notifiertest
