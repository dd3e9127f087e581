package rate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Calls to a provider from all processes: two in any second.
func ExamplePermits() {
	client, end := redistest.OpenEmbedded()
	defer end()
	ctx := context.Background()
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "provider"})
	if err != nil {
		panic(err)
	}
	pace := rate.PermitRate{Rate: rate.Rate{Count: 2, Interval: time.Second}}
	if _, err := permits.TrySetRate(ctx, pace); err != nil { // the first process sets it
		panic(err)
	}

	now := time.Date(2050, time.November, 22, 11, 11, 11, 0, time.UTC) // without it the server's clock
	for range 3 {
		d, err := permits.Acquire(ctx, rate.PermitRequest{Token: keyspace.NewToken(), Now: now})
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
		now = now.Add(100 * time.Millisecond)
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 800ms
}

// Permits for a call that was not made are given back.
func ExamplePermits_GiveBack() {
	client, end := redistest.OpenEmbedded()
	defer end()
	ctx := context.Background()
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "provider"})
	if err != nil {
		panic(err)
	}
	if err := permits.SetRate(ctx, rate.PermitRate{Rate: rate.Rate{Count: 5, Interval: time.Second}}); err != nil {
		panic(err)
	}
	token := keyspace.NewToken()
	if _, err := permits.Acquire(ctx, rate.PermitRequest{Token: token, Permits: 3}); err != nil {
		panic(err)
	}
	given, err := permits.GiveBack(ctx, token)
	if err != nil {
		panic(err)
	}
	fmt.Println(given)
	// Output: 3
}

// Bursts of three, then one every ten seconds.
func ExampleTokenBucket() {
	client, end := redistest.OpenEmbedded()
	defer end()
	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{
		Rate: rate.Rate{Count: 6, Interval: time.Minute}, Capacity: 3,
	})
	if err != nil {
		panic(err)
	}
	now := time.Date(2050, time.November, 22, 11, 11, 11, 0, time.UTC) // without it the server's clock
	for _, tokens := range []int64{2, 2} {
		d, err := bucket.Take(context.Background(), rate.TokenRequest{Key: "alice", Tokens: tokens, Now: now})
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
	}
	// Output:
	// true 1 0s
	// false 1 10s
}

// A look takes nothing.
func ExampleTokenBucket_Peek() {
	client, end := redistest.OpenEmbedded()
	defer end()
	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{
		Rate: rate.Rate{Count: 6, Interval: time.Minute}, Capacity: 3,
	})
	if err != nil {
		panic(err)
	}
	now := time.Date(2050, time.November, 22, 11, 11, 11, 0, time.UTC)
	if _, err := bucket.Take(context.Background(), rate.TokenRequest{Key: "alice", Tokens: 2, Now: now}); err != nil {
		panic(err)
	}
	for range 2 {
		l, err := bucket.Peek(context.Background(), "alice", now)
		if err != nil {
			panic(err)
		}
		fmt.Println(l.Used, "used,", l.Available, "of", l.Limit, "available, more in", l.MoreAt.Sub(l.Now))
	}
	// Output:
	// 2 used, 1 of 3 available, more in 10s
	// 2 used, 1 of 3 available, more in 10s
}

// Three calls at a rate of two in 50 ms: the third one waits.
func ExamplePermits_Wait() {
	client, end := redistest.OpenEmbedded()
	defer end()
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "provider"})
	if err != nil {
		panic(err)
	}
	pace := rate.PermitRate{Rate: rate.Rate{Count: 2, Interval: 50 * time.Millisecond}, KeepAlive: time.Hour}
	if err := permits.SetRate(ctx, pace); err != nil {
		panic(err)
	}
	var first, last time.Time
	for range 3 {
		g, err := permits.Wait(ctx, rate.PermitRequest{Token: keyspace.NewToken()})
		if err != nil {
			panic(err)
		}
		if first.IsZero() {
			first = g.TakenAt
		}
		last = g.TakenAt
	}
	fmt.Println(last.Sub(first) >= 50*time.Millisecond)
	// Output: true
}

// A function that runs twice an hour for each user.
func ExampleGuarded() {
	client, end := redistest.OpenEmbedded()
	defer end()
	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{Rate: rate.Rate{Count: 2, Interval: time.Hour}})
	if err != nil {
		panic(err)
	}
	greet := rate.Guarded(rate.Guard[string]{
		Limiter: bucket, Key: func(_ context.Context, user string) string { return user },
	}, func(_ context.Context, user string) (string, error) { return "Hi " + user, nil })
	for range 3 {
		text, err := greet(context.Background(), "alice")
		fmt.Printf("%q %t\n", text, err == nil)
	}
	// Output:
	// "Hi alice" true
	// "Hi alice" true
	// "" false
}
