package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// What must be found nowhere afterwards: a part of the name of every erased user, and
// the content of their messages.
const (
	erasedName   = "Kubla Khan"
	erasedCanary = "a stately pleasure-dome"
)

// erasable returns the name of a user for a message state. Redis would read such a name
// as a pattern.
func erasable(state string) string { return erasedName + ":[" + state + "]*" }

// TestUserErase erases users with messages in every state from a busy store, and then
// searches all of Redis for them.
func TestUserErase(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	server := redistest.Shared(t)
	environ := []string{"REDIS_URL=" + server.URL()}
	u := populate(t, server)

	bystander := u.document(t, p, environ, "bystander:[*]")
	sending := u.document(t, p, environ, erasable("sending"))
	require.Equal(t, "sending", sending["messages"][0].Entry["status"])
	require.Equal(t, erasedCanary, sending["messages"][0].Entry["body"])
	for state, wanted := range map[string]string{
		"scheduled": "scheduled", "moved": "moved", "cancelled": "cancelled",
		"delivered": "delivered", "failed": "failed", "postponed": "postponed",
	} {
		require.Equal(t, wanted, u.document(t, p, environ, erasable(state))["messages"][0].Entry["status"], state)
	}
	require.True(t, slices.ContainsFunc(u.document(t, p, environ, erasable("rehearsed"))["messages"], func(e message.UserEntry) bool { return e.DryRun != "" }))
	require.NotEmpty(t, mentions(t, server.Client(), erasedName), "the search finds something while there is something")
	require.NotEmpty(t, mentions(t, server.Client(), erasedCanary))

	var erasing sync.WaitGroup
	for _, state := range u.states {
		erasing.Go(func() {
			done := p.workerCommand(t, environ, "user", "erase", erasable(state), "--yes", "--json")
			if done.status != 0 {
				t.Errorf("%s: %d: %s%s", state, done.status, done.stdout, done.stderr)
			}
		})
	}
	erasing.Wait()
	require.Empty(t, mentions(t, server.Client(), erasedName))
	require.Empty(t, mentions(t, server.Client(), erasedCanary))

	after := u.document(t, p, environ, "bystander:[*]")
	require.Equal(t, bystander, after)
	require.Equal(t, 4, p.workerCommand(t, environ, "user", "export", erasable("scheduled")).status)
	requests := len(u.receiver.Requests())
	u.awaitReports(t)
	require.Empty(t, mentions(t, server.Client(), erasedName), "nothing came back")
	require.Len(t, u.receiver.Requests(), requests)
}

// population is the users in the store.
type population struct {
	receiver *notifiertest.Receiver
	client   *redis.Client
	states   []string
}

// populate starts a worker on the store, and waits until each user's message is in the
// state that is in the user's name.
func populate(t *testing.T, server *redistest.Database) *population {
	t.Helper()
	u := &population{
		receiver: notifiertest.NewReceiver(time.Now), client: server.Client(),
		states: []string{"scheduled", "moved", "cancelled", "sending", "delivered", "failed", "postponed", "rehearsed"},
	}
	t.Cleanup(u.receiver.Close)
	u.receiver.AnswerWith(func(r notifiertest.Request) notifiertest.Answer {
		switch p, _ := r.Payload(); p.User {
		case erasable("failed"):
			return notifiertest.Answer{Status: http.StatusBadRequest}
		case erasable("sending"):
			return notifiertest.Answer{Delay: 8 * time.Second}
		}
		return notifiertest.Answer{}
	})
	policies, err := settings.NewPolicies(u.client, "")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	submitter, err := submit.New(taskstest.Open(t, u.client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, submitter.Close()) })

	now := time.Now().UTC().Truncate(time.Millisecond)
	submit := func(user, id string, after time.Duration) {
		t.Helper()
		o, err := submitter.Submit(t.Context(), message.Message{
			ID: id, User: user, SendAt: now.Add(after), Body: erasedCanary, Data: map[string]string{"k": erasedCanary},
		})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
	}
	for _, state := range []string{"scheduled", "moved", "cancelled"} {
		submit(erasable(state), "m", time.Hour)
	}
	for _, state := range []string{"sending", "delivered", "failed"} {
		submit(erasable(state), "m", 5*time.Second)
	}
	submit(erasable("postponed"), "m", time.Second)
	submit(erasable("postponed"), "z-ahead", 61500*time.Millisecond)
	_, err = submitter.Submit(t.Context(), message.Message{ID: "m", User: "bystander:[*]", SendAt: now.Add(time.Hour), Body: "Hi"})
	require.NoError(t, err)
	_, err = submitter.Move(t.Context(), erasable("moved"), "m", now.Add(2*time.Hour))
	require.NoError(t, err)
	_, err = submitter.Cancel(t.Context(), erasable("cancelled"), "m")
	require.NoError(t, err)
	rehearsal, err := submitter.Rehearse(t.Context()) // like a dry run that was killed
	require.NoError(t, err)
	_, err = rehearsal.Submit(t.Context(), message.Message{
		ID: "m", User: erasable("rehearsed"), SendAt: now.Add(time.Hour), Body: erasedCanary,
	})
	require.NoError(t, err)

	time.AfterFunc(time.Until(now.Add(4500*time.Millisecond)), u.worker(t))
	u.await(t)
	return u
}

// worker returns a function that starts a worker, which ends with the test.
func (u *population) worker(t *testing.T) (start func()) {
	t.Helper()
	channel, err := webhook.New(webhook.Config{URL: u.receiver.URL(), Now: time.Now, Timeout: 20 * time.Second})
	require.NoError(t, err)
	worker, err := tasks.NewWorker(taskstest.Open(t, u.client, backend.Options{}), tasks.WorkerOptions{
		Notifier:    channel,
		PushTimeout: 20 * time.Second,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return func() { ended <- worker.Run(ctx) }
}

// await waits until every message that a worker handles is in its state.
func (u *population) await(t *testing.T) {
	t.Helper()
	keys := defaultKeys(t)
	for user, want := range map[string]struct{ field, value string }{
		erasable("sending"): {"s", "s"}, erasable("delivered"): {"s", "d"},
		erasable("failed"): {"s", "f"}, erasable("postponed"): {"w", "late 1 60000"},
	} {
		require.Eventually(t, func() bool {
			value, err := u.client.HGet(t.Context(), keys.Record(user, "m"), want.field).Result()
			return err == nil && value == want.value
		}, time.Minute, 20*time.Millisecond, user)
	}
}

// awaitReports waits until the worker has reported to the queue twice.
func (u *population) awaitReports(t *testing.T) {
	t.Helper()
	for range 2 {
		before := u.client.ZRangeWithScores(t.Context(), "asynq:servers", 0, -1).Val()
		require.Eventually(t, func() bool {
			return fmt.Sprint(before) != fmt.Sprint(u.client.ZRangeWithScores(t.Context(), "asynq:servers", 0, -1).Val())
		}, 60*time.Second, 100*time.Millisecond)
	}
}

// document returns the export of a user by its lists.
func (u *population) document(t *testing.T, p programs, environ []string, user string) map[string][]message.UserEntry {
	t.Helper()
	done := p.workerCommand(t, environ, "user", "export", user)
	require.Zero(t, done.status, done.stderr)
	document := make(map[string][]message.UserEntry)
	for line := range strings.Lines(done.stdout) {
		var entry message.UserEntry
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Outcome == message.UserEntryFound {
			document[entry.List] = append(document[entry.List], entry)
		}
	}
	return document
}

// mentions lists the keys of a server whose name or content has a text, for every type
// of key.
func mentions(t *testing.T, client *redis.Client, text string) []string {
	t.Helper()
	ctx := t.Context()
	var found []string
	keys := client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		key := keys.Val()
		kind, err := client.Type(ctx, key).Result()
		require.NoError(t, err)
		var value any
		switch kind {
		case "string":
			value = client.Get(ctx, key).Val()
		case "hash":
			value = client.HGetAll(ctx, key).Val()
		case "zset":
			value = client.ZRange(ctx, key, 0, -1).Val()
		case "set":
			value = client.SMembers(ctx, key).Val()
		case "list":
			value = client.LRange(ctx, key, 0, -1).Val()
		case "stream":
			value = client.XRange(ctx, key, "-", "+").Val()
		case "none": // expired since
		default:
			require.Fail(t, "a type nobody knows", "%s: %s", key, kind)
		}
		if strings.Contains(key, text) || strings.Contains(fmt.Sprint(value), text) {
			found = append(found, key)
		}
	}
	require.NoError(t, keys.Err())
	return found
}
