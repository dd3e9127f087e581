package messages_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A worker claims a message at its time, delivers it and settles the claim.
func ExampleGate() {
	client, end := redistest.OpenEmbedded()
	defer end()
	ctx := context.Background()
	options := sendlimit.Options{Records: true}
	timeline, err := sendlimit.NewTimeline(client, options)
	if err != nil {
		panic(err)
	}
	gate, err := messages.NewGate(client, options)
	if err != nil {
		panic(err)
	}

	noon := time.Date(2050, time.November, 22, 12, 0, 0, 0, time.UTC)
	generation := keyspace.NewToken() // what the queue's timer brings back
	_, err = timeline.Reserve(ctx, sendlimit.Request{
		User: "alice", ID: "reminder-1", At: noon, Now: noon.Add(-time.Hour),
		Record: &sendlimit.Record{Generation: generation, Fingerprint: "…", Content: []byte("Your train leaves at one")},
	})
	if err != nil {
		panic(err)
	}

	delivery := messages.Delivery{User: "alice", ID: "reminder-1", Generation: generation, Nonce: keyspace.NewToken()}
	claim, err := gate.Claim(ctx, delivery, 30*time.Second, noon.Add(-time.Millisecond))
	if err != nil {
		panic(err)
	}
	fmt.Println(claim.Verdict, "until", claim.Until.Format(time.TimeOnly))
	claim, err = gate.Claim(ctx, delivery, 30*time.Second, noon)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: %s\n", claim.Verdict, claim.Content)
	recorded, err := gate.Settle(ctx, delivery, messages.Settlement{Outcome: messages.Delivered}, noon)
	if err != nil {
		panic(err)
	}
	fmt.Println(recorded)
	// Output:
	// early until 12:00:00
	// send: Your train leaves at one
	// true
}
