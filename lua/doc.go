// Package lua holds the scripts that run inside Redis, one file an operation,
// embedded and ready to call, in a folder for each thing that they are about:
// place, message, charge, account, notice, count, rate, setting, refit, event, device, channel,
// audit, forecast, turn.
//
// Only scripts write a timeline or a record. Each makes all its reads and checks
// before its first write, since Redis does not roll back. Every file opens with its
// purpose, its KEYS, its ARGV with units, what it returns, and what it costs.
//
// While a Redis Cluster moves a slot, some of its keys are on one node and some on the
// other, and Redis looks only at KEYS. So each script that has other keys, or removes a
// key and makes it again, begins with fragments/moving.lua, which stops it in such a
// slot. This costs one command, 0.5 to 1 µs; place/reserve.lua does not need it where it
// takes a new message.
//
// What a call costs depends on the limits of the rules, not on how many places a user
// has: of the places around a time, only the nearest are read, see judge/places.lua.
// A rule of a category reads a set of that category. If the members of the timeline
// named the category instead, a message would take less memory, but such a rule would
// read all places in its window: 26,500 take Redis 9 to 23 ms.
//
// Scripts share the code in fragments/, and in judge/ what judges a time: README.md tells how.
// Code is joined in when the package loads, at the line
//
//	--@include name
//
// or judge/name, once for each script, so a script is one text with one SHA-1, called in one round
// trip. Code before the line runs before the functions are defined: each costs about 0.1 µs a
// call, so place/reserve.lua includes the judge only where it judges. The functions of the judge
// get all they know from a table, see judge/question.lua: each variable of the script that a function
// uses makes it cost twice as much to define.
//
// Unix milliseconds have 13 digits, and Redis' tostring and ".." keep 14 digits of a
// number. Scripts pass numbers to commands and replies as numbers, which keep all.
package lua
