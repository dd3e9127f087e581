package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/client"
)

// exampleAPI is an API under the default rules, where it is 11:00 on
// 2026-11-22. Call end at the end.
func exampleAPI() (c *client.Client, end func()) {
	var closing []func()
	r, err := startRealAPI(context.Background(), func(f func()) { closing = append(closing, f) })
	if err != nil {
		log.Fatal(err)
	}
	return r.Client, func() {
		for _, f := range slices.Backward(closing) {
			f()
		}
	}
}

func ExampleClient_Submit() {
	c, end := exampleAPI() // client.New("http://127.0.0.1:8080", client.Options{})
	defer end()
	ctx := context.Background()

	at := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	for _, m := range []client.Message{
		{ID: "table", User: "alice", SendAt: at, Title: "Your table is ready"},
		{ID: "rate", User: "alice", SendAt: at.Add(34 * time.Second), Title: "Rate us"},
		{ID: "late", User: "alice", SendAt: at.Add(-time.Hour), Title: "Good morning"},
	} {
		accepted, err := c.Submit(ctx, m)
		var refusal *client.Refusal
		var wrong *client.InvalidError
		switch {
		case errors.As(err, &refusal):
			fmt.Println("refused by", refusal.Violations[0].Rule, "- next free:", refusal.NextFreeAt.Format(time.TimeOnly))
		case errors.As(err, &wrong):
			fmt.Println("wrong:", wrong.Field, wrong.Code)
		case err != nil:
			log.Fatal(err) // the API is away, and trying again has not helped
		default:
			fmt.Println("accepted", accepted.ID, "for", accepted.SendAt.Format(time.TimeOnly))
		}
	}
	// Output:
	// accepted table for 11:11:11
	// refused by 1/minute - next free: 11:12:11
	// wrong: send_at in_past
}

func ExampleClient_Submit_shift() {
	c, end := exampleAPI()
	defer end()
	ctx := context.Background()

	at := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	for range 3 {
		accepted, err := c.Submit(ctx, client.Message{
			User: "alice", SendAt: at, Title: "News", OnConflict: client.OnConflictShift,
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(accepted.SendAt.Format(time.TimeOnly), accepted.Shifted)
	}
	// Output:
	// 11:11:11 false
	// 11:12:11 true
	// 11:13:11 true
}

func ExampleClient_SubmitBatch() {
	c, end := exampleAPI()
	defer end()
	ctx := context.Background()

	messages := func(yield func(client.Message) bool) {
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		for i, user := range []string{"alice", "bob", "alice"} {
			m := client.Message{ID: fmt.Sprintf("news-%d", i), User: user, SendAt: at, Title: "News"}
			if !yield(m) {
				return
			}
		}
	}
	for result, err := range c.SubmitBatch(ctx, messages) {
		switch {
		case err != nil:
			log.Fatal(err) // a *BatchError: what has no answer is in it
		case result.Err != nil:
			fmt.Printf("%d: %v\n", result.Index, result.Err)
		default:
			fmt.Printf("%d: accepted %s\n", result.Index, result.Accepted.ID)
		}
	}
	// Output:
	// 0: accepted news-0
	// 1: accepted news-1
	// 2: alice already has a message at 12:00:00, within 1 minute; the next free time is 12:01:00
}

func ExampleClient_ApplyPolicy() {
	c, end := exampleAPI()
	defer end()
	ctx := context.Background()

	at := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	if _, err := c.Submit(ctx, client.Message{ID: "news", User: "alice", SendAt: at, Title: "News"}); err != nil {
		log.Fatal(err)
	}
	policy, err := c.Policy(ctx, "default")
	if err != nil {
		log.Fatal(err)
	}
	policy.QuietHours = []string{"22:00-08:00"}
	for event, err := range c.DryRunPolicy(ctx, policy.Name, policy) {
		switch {
		case err != nil:
			log.Fatal(err)
		case event.Misfit != nil:
			fmt.Println(event.Misfit.ID, "would not fit", event.Misfit.Breaks)
		case event.Summary != nil:
			fmt.Println(event.Summary.Misfits, "of", event.Summary.Reservations, "messages would not fit")
		}
	}
	for range 2 {
		change, err := c.ApplyPolicy(ctx, policy.Name, policy, client.IfVersion(policy.Version))
		var refusal *client.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Code == client.CodeVersionMismatch:
			fmt.Println("somebody else was quicker:", refusal.Detail)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println("now at version", change.New.Version)
		}
		policy.QuietHours = nil // of what is no longer the version that was read
	}
	// Output:
	// news would not fit quiet_hours
	// 1 of 1 messages would not fit
	// now at version 2
	// somebody else was quicker: policy default is at version 2, not at 1: read it again, and repeat the change on that version
}

func ExampleClient_ChangeUserSettings() {
	c, end := exampleAPI()
	defer end()
	ctx := context.Background()

	settings, err := c.ChangeUserSettings(ctx, "alice", client.SettingsPatch{Limits: []string{"20/calendar_day"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, rule := range settings.Effective.Rules {
		fmt.Println(rule.Rule, "from", rule.From)
	}
	// Output:
	// 1/minute from policy
	// 5/hour from policy
	// 20/calendar_day from user
}

func ExampleClient_ListMessages() {
	c, end := exampleAPI()
	defer end()
	ctx := context.Background()

	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for i := range 3 {
		m := client.Message{ID: fmt.Sprintf("news-%d", i), User: "alice", SendAt: at.Add(time.Duration(i) * time.Hour), Title: "News"}
		if _, err := c.Submit(ctx, m); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := c.Move(ctx, "alice", "news-1", at.Add(30*time.Minute)); err != nil {
		log.Fatal(err)
	}
	for m, err := range c.ListMessages(ctx, "alice", client.ListMessagesQuery{Limit: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.SendAt.Format(time.TimeOnly), m.Status, m.ID)
	}
	// Output:
	// 12:00:00 scheduled news-0
	// 12:30:00 moved news-1
	// 14:00:00 scheduled news-2
}

func ExampleClient_CancelMessage() {
	c, end := exampleAPI()
	defer end()
	ctx := context.Background()

	_, err := c.CancelMessage(ctx, "alice", "order-17")
	fmt.Println(errors.Is(err, client.ErrNotFound), err)
	// Output:
	// true cancel a message: no pending message "order-17" of user "alice"
}
