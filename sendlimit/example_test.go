package sendlimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// exampleTimeline returns a timeline with one message at 11:11:11, and
// midnight, the current time.
func exampleTimeline(client *redis.Client) (timeline *sendlimit.Timeline, midnight time.Time) {
	midnight = time.Date(2050, time.November, 22, 0, 0, 0, 0, time.UTC)
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{})
	if err != nil {
		panic(err)
	}
	_, err = timeline.Reserve(context.Background(), sendlimit.Request{
		User: "alice", ID: "reminder-1", At: midnight.Add(11*time.Hour + 11*time.Minute + 11*time.Second), Now: midnight,
	})
	if err != nil {
		panic(err)
	}
	return timeline, midnight
}

func Example() {
	client, end := redistest.OpenEmbedded()
	defer end()
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{}) // 1/minute, 5/hour, 10/calendar_day
	if err != nil {
		panic(err)
	}
	// Without Now the store's clock would decide.
	midnight := time.Date(2050, time.November, 22, 0, 0, 0, 0, time.UTC)
	decision, err := timeline.Reserve(context.Background(), sendlimit.Request{
		User: "alice", ID: "reminder-1", At: midnight.Add(11 * time.Hour), Now: midnight,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(decision.Allowed, decision.At.Format(time.TimeOnly))
	// Output: true 11:00:00
}

// A refusal says which reservations conflict and which times are free.
func ExampleTimeline_Reserve() {
	client, end := redistest.OpenEmbedded()
	defer end()
	timeline, midnight := exampleTimeline(client)

	decision, err := timeline.Reserve(context.Background(), sendlimit.Request{
		User: "alice", ID: "reminder-2", At: midnight.Add(11*time.Hour + 11*time.Minute + 12*time.Second), Now: midnight,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(decision.Allowed, decision.Code)
	for _, v := range decision.Violations {
		fmt.Println(v.Rule, "is broken by", v.Conflicts[0].ID, "at", v.Conflicts[0].At.Format(time.TimeOnly))
	}
	fmt.Println("free:", decision.PreviousFree.Format(time.TimeOnly), "or", decision.NextFree.Format(time.TimeOnly))
	// Output:
	// false send_limit
	// 1/minute is broken by reminder-1 at 11:11:11
	// free: 11:10:11 or 11:12:11
}

// With Shift, Reserve finds and takes the next free time in one atomic call.
func ExampleTimeline_Reserve_shift() {
	client, end := redistest.OpenEmbedded()
	defer end()
	timeline, midnight := exampleTimeline(client)

	asked := midnight.Add(11*time.Hour + 11*time.Minute + 30*time.Second)
	decision, err := timeline.Reserve(context.Background(), sendlimit.Request{
		User: "alice", ID: "reminder-2", At: asked, Shift: true, ShiftUntil: asked.Add(time.Hour), Now: midnight,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(decision.Allowed, decision.Shifted)
	fmt.Println("asked for", decision.RequestedAt.Format(time.TimeOnly), "and got", decision.At.Format(time.TimeOnly))
	// Output:
	// true true
	// asked for 11:11:30 and got 11:12:11
}

// A reservation does not conflict with itself: it can move by 30 seconds under
// a limit of one per minute.
func ExampleTimeline_Move() {
	client, end := redistest.OpenEmbedded()
	defer end()
	timeline, midnight := exampleTimeline(client)

	decision, err := timeline.Move(context.Background(), sendlimit.MoveRequest{
		User: "alice", ID: "reminder-1", At: midnight.Add(11*time.Hour + 11*time.Minute + 41*time.Second), Now: midnight,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(decision.Allowed, decision.MovedFrom.Format(time.TimeOnly), "to", decision.At.Format(time.TimeOnly))
	// Output: true 11:11:11 to 11:11:41
}

// Each free time counts those before it as taken. All of them can be taken.
func ExampleTimeline_NextFree() {
	client, end := redistest.OpenEmbedded()
	defer end()
	timeline, midnight := exampleTimeline(client)

	times, err := timeline.NextFree(context.Background(), sendlimit.NextFreeRequest{
		User: "alice", From: midnight.Add(11*time.Hour + 11*time.Minute), Count: 5, Now: midnight,
	})
	if err != nil {
		panic(err)
	}
	for _, at := range times {
		fmt.Println(at.Format(time.TimeOnly))
	}
	// Output:
	// 11:12:11
	// 11:13:11
	// 11:14:11
	// 11:15:11
	// 12:11:11
}

func ExampleTimeline_Usage() {
	client, end := redistest.OpenEmbedded()
	defer end()
	timeline, midnight := exampleTimeline(client)

	noon := midnight.Add(12 * time.Hour)
	usage, err := timeline.Usage(context.Background(), sendlimit.UsageRequest{
		User: "alice", At: noon, From: noon.Add(-time.Hour), To: noon, Now: midnight,
	})
	if err != nil {
		panic(err)
	}
	for _, rule := range usage.Rules {
		fmt.Printf("%d of %s\n", rule.Used, rule.Rule)
	}
	for _, free := range usage.Free {
		fmt.Println("free from", free.From.Format("15:04:05.000"), "until", free.Until.Format("15:04:05.000"))
	}
	// Output:
	// 0 of 1/minute
	// 1 of 5/hour
	// 1 of 10/calendar_day
	// free from 11:00:00.000 until 11:10:11.001
	// free from 11:12:11.000 until 12:00:00.000
}

// Release gives a place back. Releasing it twice is harmless.
func ExampleTimeline_Release() {
	client, end := redistest.OpenEmbedded()
	defer end()
	timeline, midnight := exampleTimeline(client)

	for range 2 {
		decision, err := timeline.Release(context.Background(), sendlimit.ReleaseRequest{
			User: "alice", ID: "reminder-1", Now: midnight,
		})
		if err != nil {
			panic(err)
		}
		if decision.Allowed {
			fmt.Println("freed", decision.At.Format(time.TimeOnly))
		} else {
			fmt.Println(decision.Code)
		}
	}
	// Output:
	// freed 11:11:11
	// not_found
}
