// Package script calls Lua scripts and reads their replies, the fields of records, and the lists of
// partitions.
//
// A ReplyReader checks the type of each element it reads and keeps the first error, an ErrReply:
// the store is not Redis, or runs another version's scripts.
//
// The package does not know what any script is for.
package script
