// Package sendlimittest tests implementations of the limiters against plain
// models.
//
// Model is a Go model of sendlimit.Timeline. It follows the definitions of the rules
// word for word and shares no code with the scripts: if the two differ, one of them is
// wrong. The other limiters have their own models.
//
// Functions named Check... run random histories against a store and compare every
// answer with the model's. Judge returns the model's decisions about a whole trace of
// traffic.
//
// Package redistest starts the stores to test on, package traffic has the sends
// to test with, and package story has the code that tests of several packages share.
// No program imports any of them.
package sendlimittest
