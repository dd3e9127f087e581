package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// A receiver checks the signature with any Standard Webhooks library and
// remembers the key, so that a message sent twice is shown once.
func Example() {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	receiver := notifiertest.NewReceiver(time.Now)
	defer receiver.Close()
	receiver.AnswerWith(func(r notifiertest.Request) notifiertest.Answer {
		if err := verifier.Verify(r.Body, r.Header); err != nil {
			return notifiertest.Answer{Status: http.StatusUnauthorized}
		}
		fmt.Println("received", string(r.Body))
		return notifiertest.Answer{Status: http.StatusNoContent}
	})

	channel, err := webhook.New(webhook.Config{URL: receiver.URL(), Secret: secret, Now: time.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer channel.Close()
	result := channel.Notify(context.Background(), notifier.Notification{
		ID:             "order-17",
		User:           "alice",
		Title:          "Your order is on its way",
		SendAt:         time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC),
		Attempt:        1,
		IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	})
	fmt.Println(result.Status)
	// Output:
	// received {"id":"order-17","user":"alice","title":"Your order is on its way","send_at":"2026-11-22T11:11:11.000Z","attempt":1}
	// delivered
}

// A provider that is busy says when to come again. The caller sees to it, not
// the channel.
func Example_retry() {
	receiver := notifiertest.NewReceiver(time.Now)
	defer receiver.Close()
	receiver.Script(notifiertest.Answer{
		Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {"120"}},
	})
	channel, err := webhook.New(webhook.Config{URL: receiver.URL(), Now: time.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer channel.Close()
	result := channel.Notify(context.Background(), notifier.Notification{
		ID:             "order-17",
		User:           "alice",
		Title:          "Your order is on its way",
		IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	})
	fmt.Println(result.Status, result.Reason, result.RetryAfter, result.Err)
	// Output:
	// retry rate_limited 2m0s the webhook answered with HTTP status 429
}
