package keyspace

import "time"

// Ahead says how far the clock of the server that has a partition is ahead of a common clock: the
// masters of a cluster have clocks of their own. A script judges by the clock of its server, so
// a time that another server or the program gave is of another clock. Nil is for one clock.
type Ahead func(partition int) time.Duration

// Of returns how far the clock of the server that has a partition is ahead.
func (a Ahead) Of(partition int) time.Duration {
	if a == nil {
		return 0
	}
	return a(partition)
}

// OfUser returns how far the clock of the server that has a user is ahead.
func (a Ahead) OfUser(user string) time.Duration {
	if a == nil {
		return 0
	}
	return a(Partition(user))
}

// Between returns how far the clock of the server that has a user is ahead of that of the one that
// has an account, or another name that a partition is found by.
func (a Ahead) Between(user, account string) time.Duration {
	return a.OfUser(user) - a.OfUser(account)
}
