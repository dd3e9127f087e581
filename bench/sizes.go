package main

import "time"

// sizes are how much is measured. Ratios need the full sizes: small runs measure
// warm-up and an almost empty Redis.
type sizes struct {
	name string

	users     int // for the rows about Reserve and Submit
	slices    int // for each side; the sides alternate
	reserves  int // a slice of Reserve or Allow
	submits   int // a slice of Submit or Enqueue
	histories int // users with a long history
	booked    int // users booked solid for a year
	busiest   int // places of a user, one a minute: 120,000 are 80 days
	category  int // places of a user in a window of a category
	crowd     int // places of a user in one day
	// heavyTries is how often the row heavy measures each operation. The fastest counts, since
	// the machine may be busy.
	heavyTries int

	warmUp       int   // reservations, before memory is measured
	deviceUsers  int   // with one device, and with three
	memoryUsers  []int // each with 10 reservations
	pendingUsers []int // each with one message that is far ahead
	indexUsers   []int // the same, for the rows about the index of messages

	bulkLines  int // of the traffic; zero means all
	bulkRounds int
	policies   int // that a store has while others change

	deliveries     int // a round
	deliveryRounds int
	distant        int           // deliveries with a longer round trip
	herd           int           // messages due at the same time
	herdWithin     time.Duration // from the first submit of the herd to its time
	quiet          int           // messages of another account beside the herd
	quietWithin    time.Duration

	backlogUsers int // each with lateEach messages

	dueMessages int
	dueWithin   time.Duration
	pending     int           // messages that are not due
	follow      time.Duration // how long browsers follow the overview

	workers         []int // numbers of worker processes; the first is one
	slowPushes      int   // of each of them, to a slow provider
	restartMessages int   // due while workers are restarted
	restartWithin   time.Duration

	idleFor     time.Duration // worker processes have nothing to do
	manyAMinute int           // messages of a steady load, for few worker processes and for many
	manyFor     time.Duration
	manyRounds  int // of each
}

func fullSizes() sizes {
	return sizes{
		name:  "full",
		users: 100_000, slices: 20, reserves: 10_000, submits: 4_000, histories: 50, booked: 20, busiest: 120_000, category: 26_500, crowd: 100_000, heavyTries: 5,
		warmUp: 10_000, deviceUsers: 10_000, memoryUsers: []int{1_000, 100_000}, pendingUsers: []int{100_000, 1_000_000},
		indexUsers: []int{10_000, 100_000, 1_000_000},
		bulkRounds: 2, policies: 3_000,
		deliveries: 10_000, deliveryRounds: 3, backlogUsers: 500,
		distant: 2_000, herd: 100_000, herdWithin: 90 * time.Second, quiet: 1_000, quietWithin: 20 * time.Second,
		dueMessages: 2_000, dueWithin: 10 * time.Second, pending: 1_000_000, follow: 20 * time.Second,
		workers: []int{1, 2, 4, 8}, slowPushes: 2_500, restartMessages: 6_000, restartWithin: 30 * time.Second,
		idleFor: time.Minute, manyAMinute: 50_000, manyFor: 30 * time.Second, manyRounds: 3,
	}
}

func quickSizes() sizes {
	return sizes{
		name:  "quick",
		users: 10_000, slices: 10, reserves: 1_000, submits: 500, histories: 5, booked: 4, busiest: 120_000, category: 26_500, crowd: 20_000, heavyTries: 5,
		warmUp: 10_000, deviceUsers: 10_000, memoryUsers: []int{1_000, 10_000}, pendingUsers: []int{10_000, 200_000},
		indexUsers: []int{10_000, 50_000},
		bulkLines:  10_000, bulkRounds: 1, policies: 3_000,
		deliveries: 2_000, deliveryRounds: 1, backlogUsers: 100,
		distant: 500, herd: 2_000, herdWithin: 6 * time.Second, quiet: 100, quietWithin: 2 * time.Second,
		dueMessages: 500, dueWithin: 3 * time.Second, pending: 10_000, follow: 5 * time.Second,
		workers: []int{1, 2}, slowPushes: 600, restartMessages: 1_000, restartWithin: 6 * time.Second,
		idleFor: 10 * time.Second, manyAMinute: 12_000, manyFor: 4 * time.Second, manyRounds: 1,
	}
}
