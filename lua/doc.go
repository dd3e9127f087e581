// Package lua holds the scripts that run inside Redis, one file an operation, embedded and ready to
// call, in a folder for each subject: place, message, charge, account, notice, count, rate,
// setting, refit, event, device, channel, audit, forecast, turn.
//
// Only scripts write a timeline or a record. Each makes all its reads and checks before its first
// write, since Redis does not roll back. Every file opens with its purpose, its KEYS, its ARGV with
// units, its replies, and its cost.
//
// While a Redis Cluster moves a slot, some of its keys are on one node and some on the other, and
// Redis checks only KEYS. So each script that uses other keys, or removes a key and creates it
// again, begins with fragments/moving.lua, which stops it in such a slot. This costs one command,
// 0.5 to 1 µs; place/reserve.lua does not need it where it takes a new message.
//
// The cost of a call depends on the limits of the rules, not on the number of a user's places: only
// the places nearest to a time are read, see judge/places.lua. A rule of a category reads a set of
// that category. If the members of the timeline named the category instead, a message would take
// less memory, but such a rule would read all places in its window: 26,500 take Redis 9 to 23 ms.
//
// Scripts share the code in fragments/, and the code that judges a time in judge/, see README.md. A
// fragment is inserted when a script is first used, at the line
//
//	--@include name
//
// or judge/name, once for each script. So a script is one text with one SHA-1, called in one round
// trip. Code before the line runs before the functions are defined: each costs about 0.1 µs a call,
// so place/reserve.lua includes the judge only where it judges. The functions of the judge get all
// their input from a table, see judge/question.lua: each variable of the script that a function
// uses doubles the cost of its definition.
//
// Unix milliseconds have 13 digits, and Redis' tostring and ".." keep 14 digits of a number.
// Scripts pass numbers to commands and replies as numbers, which keep all digits. Redis writes such a
// number as text, and each score of a reply, which takes 7,000 instructions, as much as three counts
// of a range. So what every call does passes text, or string.format('%d') of a number, which takes
// 1,000. A word of KEYS or ARGV takes 900, a table or a function about 1,000.
package lua
