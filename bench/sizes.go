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
	crowd     int // places of a user in one day

	memoryUsers []int // each with 10 reservations

	bulkLines  int // of the traffic; zero means all
	bulkRounds int
	policies   int // that a store has while others change

	deliveries     int // a round
	deliveryRounds int

	backlogUsers int // each with lateEach messages

	dueMessages int
	dueWithin   time.Duration
}

func fullSizes() sizes {
	return sizes{
		name:  "full",
		users: 100_000, slices: 20, reserves: 10_000, submits: 4_000, histories: 50, booked: 20, crowd: 100_000,
		memoryUsers: []int{1_000, 100_000},
		bulkRounds:  2, policies: 3_000,
		deliveries: 10_000, deliveryRounds: 3, backlogUsers: 500,
		dueMessages: 2_000, dueWithin: 10 * time.Second,
	}
}

func quickSizes() sizes {
	return sizes{
		name:  "quick",
		users: 10_000, slices: 10, reserves: 1_000, submits: 500, histories: 5, booked: 4, crowd: 20_000,
		memoryUsers: []int{1_000, 10_000},
		bulkLines:   10_000, bulkRounds: 1, policies: 3_000,
		deliveries: 2_000, deliveryRounds: 1, backlogUsers: 100,
		dueMessages: 500, dueWithin: 3 * time.Second,
	}
}
