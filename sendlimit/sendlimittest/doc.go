// Package sendlimittest has what tests of the limiters, here and in other
// packages, are held against and run on.
//
//   - Model is a plain Go model of sendlimit.Timeline. It follows the
//     definitions of the rules word for word and shares nothing with the
//     scripts, so that where the two differ one of them is wrong.
//   - Traffic is a year of real sends, or a generated one of the same shape.
//   - EmbeddedRedis, StartRedis and StartCluster give a store to run on.
//
// It is for tests and benchmarks only: no program imports it.
package sendlimittest
