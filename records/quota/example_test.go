package quota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// An account with one message a day. Its charge is kept only if the message got
// a place.
func ExampleCharges() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	server.SetTime(now)
	ctx := context.Background()

	charges, err := quota.New(client, quota.Options{})
	if err != nil {
		panic(err)
	}
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Records: true})
	if err != nil {
		panic(err)
	}
	account := accounts.Account{Name: "acme"}
	tier := accounts.Tier{Name: "free", MessagesPerDay: 1}
	for _, id := range []string{"1", "2"} {
		at := now.Add(11 * time.Hour)
		charge, err := charges.Hold(ctx, quota.Request{Account: account, Tier: tier, User: "alice", ID: id, At: at})
		if err != nil {
			panic(err)
		}
		if !charge.Allowed {
			fmt.Println(id, charge.Code, charge.UsedUp.Counter, "until", charge.UsedUp.Until.Format(time.DateTime))
			continue
		}
		d, err := timeline.Reserve(ctx, sendlimit.Request{
			User: "alice", ID: id, At: at, Hold: &charge.Hold,
			Record: &sendlimit.Record{Generation: keyspace.NewToken()},
		})
		if err != nil {
			panic(err) // whether the place was taken LookAfter finds out
		}
		_, err = charges.Settle(ctx, time.Time{}, quota.Settlement{
			Account: account.Name, Attempt: charge.Hold.Attempt, Made: d.Allowed,
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(id, "accepted for", d.At.Format(time.DateTime))
	}
	// Output:
	// 1 accepted for 2026-11-22 11:00:00
	// 2 quota_exceeded 1 per day until 2026-11-23 00:00:00
}
