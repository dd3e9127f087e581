package keyspace

import "time"

// Ahead says how far the clock of a partition's server is ahead of a common clock, since the
// masters of a cluster have different clocks. A script judges by the clock of its server, and a
// time from another server or the program is by another clock. Nil means one clock.
type Ahead func(partition int) time.Duration

// Of returns how far the clock of a partition's server is ahead.
func (a Ahead) Of(partition int) time.Duration {
	if a == nil {
		return 0
	}
	return a(partition)
}

// OfUser returns how far the clock of a user's server is ahead.
func (a Ahead) OfUser(user string) time.Duration {
	if a == nil {
		return 0
	}
	return a(Partition(user))
}

// Between returns how far the clock of a user's server is ahead of the clock of an account's
// server. The account may be any name that has a partition.
func (a Ahead) Between(user, account string) time.Duration {
	return a.OfUser(user) - a.OfUser(account)
}
