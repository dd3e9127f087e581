package sendlimit

import "time"

// Timer is when something is to happen with a generation of a message: its task in the queue is due,
// or its entry in the watch list is to be looked at. The zero Timer is none.
type Timer struct {
	User       string
	ID         string
	Generation string // also the id of a task for this message alone
	Due        time.Time
	Origin     Origin // a hint: an empty one costs only fairness
}

// Origin is where a message comes from: who submitted it, and for what. Accounts share a
// worker's capacity, and the campaigns of an account share what it gets. Messages without
// an account count as those of one account more, and those without a campaign as a campaign
// of its own.
type Origin struct{ Account, Campaign string }
