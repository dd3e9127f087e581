package logline_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/logline"
)

func Example() {
	at := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	clock := func() time.Time { return at.Add(3 * time.Millisecond) }

	channel, err := logline.New(os.Stdout, clock)
	if err != nil {
		fmt.Println(err)
		return
	}
	channel.Notify(context.Background(), notifier.Notification{
		ID:      "order-17",
		User:    "alice",
		Title:   "Your order is on its way",
		SendAt:  at,
		Attempt: 1,
	})
	// Output:
	// {"id":"order-17","user":"alice","title":"Your order is on its way","send_at":"2026-11-22T11:11:11.000Z","attempt":1,"delivered_at":"2026-11-22T11:11:11.003Z"}
}
