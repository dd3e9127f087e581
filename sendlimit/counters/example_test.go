package counters_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Three calls a minute and five an hour, all or none.
func ExampleCounters() {
	client, end := redistest.OpenEmbedded()
	defer end()
	limits := counters.New(client, keyspace.KeysUnder(""))
	call := counters.Request{
		Key: "alice", N: 2,
		Counters: []counters.Counter{
			{Name: "minute", Limit: 3, Period: calendar.Minute},
			{Name: "hour", Limit: 5, Period: calendar.Hour},
		},
		At: time.Date(2050, time.November, 22, 11, 11, 11, 0, time.UTC), // zero is the server's clock
	}
	for range 2 {
		d, err := limits.Count(context.Background(), call)
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Allowed, d.Counter, d.Remaining, d.RetryAfter, d.ResetsAt.Format(time.TimeOnly))
	}
	// Output:
	// true minute 1 0s 11:12:00
	// false minute 1 49s 11:12:00
}

// The limits of an event are in the store and take effect immediately.
func ExampleEvents() {
	client, end := redistest.OpenEmbedded()
	defer end()
	events := counters.NewEvents(client, keyspace.KeysUnder(""))
	limits := counters.New(client, keyspace.KeysUnder(""))
	login := counters.Request{Event: "login", Key: "192.0.2.7"}
	for _, limit := range []int64{1, 2} {
		if err := events.Set(context.Background(), counters.EventLimits{Name: "login", PerDay: limit}); err != nil {
			panic(err)
		}
		for range 2 {
			d, err := limits.Count(context.Background(), login)
			if err != nil {
				panic(err)
			}
			fmt.Println(limit, d.Allowed)
		}
	}
	// Output:
	// 1 true
	// 1 false
	// 2 true
	// 2 false
}

func ExampleGuarded() {
	client, end := redistest.OpenEmbedded()
	defer end()
	limits := counters.New(client, keyspace.KeysUnder(""))
	greet := counters.Guarded(counters.Guard[string]{
		Counters: limits,
		Key:      func(_ context.Context, name string) string { return name },
		Extra: func(context.Context, string) []counters.Counter {
			return []counters.Counter{{Name: "greetings", Limit: 1, Window: time.Hour}}
		},
	}, func(_ context.Context, name string) (string, error) { return "hello " + name, nil })

	for range 2 {
		greeting, err := greet(context.Background(), "alice")
		var limited *counters.LimitedError
		fmt.Println(greeting, errors.As(err, &limited))
	}
	// Output:
	// hello alice false
	//  true
}

func ExampleGuardHandler() {
	client, end := redistest.OpenEmbedded()
	defer end()
	limits := counters.New(client, keyspace.KeysUnder(""))
	guard := counters.Guard[*http.Request]{
		Counters: limits,
		Key:      func(_ context.Context, r *http.Request) string { return r.RemoteAddr },
		Extra: func(context.Context, *http.Request) []counters.Counter {
			return []counters.Counter{{Name: "burst", Limit: 1, Window: time.Minute}}
		},
	}
	handler := counters.GuardHandler(guard, http.NotFoundHandler(), nil)
	for range 2 {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody))
		fmt.Println(answer.Code, answer.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 404 "burst";q=1;w=60
	// 429 "burst";q=1;w=60
}
