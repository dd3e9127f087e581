// Package lua holds the scripts that run inside Redis, one file an operation,
// embedded and ready to call, in a folder for each thing that they are about:
// place, message, charge, account, notice, count, rate, setting, refit.
//
// A script is the only thing that ever writes a timeline, a record or a watch
// list: each makes all its reads and checks before its first write, since Redis
// does not roll back. Every file opens with what it does, its KEYS, its ARGV
// with units, what it returns, and what it costs.
//
// What several scripts share lives in fragments/ and is joined in when the
// package loads, at the line
//
//	--@include name
//
// so that a script stays one text, one SHA-1 and one round trip. The place of
// the line matters: what stands before it runs before the fragment's functions
// are even made, which place/reserve.lua uses to keep its common case short.
//
// Numbers: Unix milliseconds have 13 digits. Redis's tostring and ".." keep 14
// of them; the scripts pass numbers to commands and replies as numbers, which
// keep all.
package lua
