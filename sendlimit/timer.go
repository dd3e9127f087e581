package sendlimit

import "time"

// Timer is when a generation of a message is due: its task in the queue, or its entry in the watch
// list. The zero Timer is none.
type Timer struct {
	User       string
	ID         string
	Generation string // also the id of a task with only this message
	Due        time.Time
	Origin     Origin // a hint: an empty one costs only fairness
}

// Origin is the account and campaign of a message. Accounts share a worker's capacity, and the
// campaigns of an account share the account's part. Messages without an account count as one more
// account, and those without a campaign as one more campaign.
type Origin struct{ Account, Campaign string }
