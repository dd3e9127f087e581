// Package job runs work in the background of a program.
//
//	Start   repeats short work in a worker at times of its own, such as a look at the watch list
//	Repeat  repeats short work after a fixed pause, such as asking a store that is away
//	Looks   repeats the reads of several parts, such as the policies and the pace, in one round trip
//	Begin   begins work that takes long, such as a refit or a move of a campaign
//
// One program at a time has the turn of long work, and keeps the turn while it works. It can be
// stopped or killed at any time: the next one continues with its notes. Rest leaves half of the
// store's time to others. The package does not know the work.
package job
