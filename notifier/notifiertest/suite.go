package notifiertest

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// patience is how long the suites wait for something that should come at once.
const patience = 10 * time.Second

// parallel is how many deliveries the suites make at the same time.
const parallel = 64

// Suite makes a channel in three situations. All fields but Secrets are required. A
// function is called once for each test that needs it, and cleans up with t.Cleanup.
type Suite struct {
	New     func(t *testing.T) notifier.Notifier // its provider accepts everything
	Failing func(t *testing.T) notifier.Notifier // its provider refuses everything
	Stuck   func(t *testing.T) notifier.Notifier // its provider never answers
	// Secrets are parts of the channel's settings that no error may show.
	Secrets []string
}

// Run tests the promises of package notifier about every channel.
func Run(t *testing.T, s Suite) {
	t.Helper()
	t.Run("delivers any content", s.delivers)
	t.Run("leaves the notification as it is", s.leavesAlone)
	t.Run("is safe for concurrent use", s.concurrent)
	t.Run("gives a reason when it did not deliver", s.refused)
	t.Run("sends nothing when its context has ended", s.ended)
	t.Run("returns when its context ends", s.stuck)
}

func (s Suite) delivers(t *testing.T) {
	t.Parallel()
	channel := s.New(t)
	for name, n := range samples() {
		result := channel.Notify(t.Context(), n)
		requireSound(t, result, s.Secrets)
		if tooLarge(channel, n) {
			require.Equal(t, notifier.Permanent, result.Status, "%s: %v", name, result.Err)
			require.Equal(t, notifier.ReasonTooLarge, result.Reason, name)
			continue
		}
		require.Equal(t, notifier.Delivered, result.Status, "%s: %v", name, result.Err)
	}
}

// tooLarge reports whether a channel says beforehand that it takes no message of this size.
func tooLarge(channel notifier.Notifier, n notifier.Notification) bool {
	checker, ok := channel.(notifier.Checker)
	return ok && n.ID == largestID && checker.Check(n) != nil
}

func (s Suite) leavesAlone(t *testing.T) {
	t.Parallel()
	n := sample("alice", "id-1")
	before := n
	before.Data = maps.Clone(n.Data)
	requireSound(t, s.New(t).Notify(t.Context(), n), s.Secrets)
	require.Equal(t, before, n)
}

func (s Suite) concurrent(t *testing.T) {
	t.Parallel()
	channel := s.New(t)
	for _, result := range together(t.Context(), channel, parallel) {
		requireSound(t, result, s.Secrets)
		require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	}
}

func (s Suite) refused(t *testing.T) {
	t.Parallel()
	result := s.Failing(t).Notify(t.Context(), sample("alice", "id-1"))
	requireSound(t, result, s.Secrets)
	require.NotEqual(t, notifier.Delivered, result.Status)
}

func (s Suite) ended(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result := s.New(t).Notify(ctx, sample("alice", "id-1"))
	requireSound(t, result, s.Secrets)
	require.Equal(t, notifier.Retry, result.Status)
	require.False(t, result.Uncertain(), "nothing was sent")
}

func (s Suite) stuck(t *testing.T) {
	t.Parallel()
	channel := s.Stuck(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	result := within(t, patience, func() notifier.Result { return channel.Notify(ctx, sample("alice", "id-1")) })
	requireSound(t, result, s.Secrets)
	require.Equal(t, notifier.Retry, result.Status)
	require.True(t, result.Uncertain(), "it may have arrived")
	require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, "it waited as long as it might")
}

// within fails the test if notify does not return, so that the test does not hang.
func within(t *testing.T, limit time.Duration, notify func() notifier.Result) notifier.Result {
	t.Helper()
	results := make(chan notifier.Result, 1)
	go func() { results <- notify() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case result := <-results:
		return result
	case <-timer.C:
		require.FailNow(t, "Notify does not return")
		return notifier.Result{}
	}
}

// together delivers count notifications at the same time.
func together(ctx context.Context, channel notifier.Notifier, count int) []notifier.Result {
	results := make([]notifier.Result, count)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			n := sample("alice", "id-"+strings.Repeat("i", i+1))
			results[i] = channel.Notify(ctx, n)
		})
	}
	all.Wait()
	return results
}

// requireSound checks that a channel may return a result, and that neither its error nor a wrapped
// one shows a secret or part of the message.
func requireSound(t *testing.T, result notifier.Result, secrets []string) {
	t.Helper()
	require.NoError(t, result.Validate())
	if result.Status != notifier.Delivered {
		require.Error(t, result.Err, "a log line needs a detail")
	}
	for err := result.Err; err != nil; err = errors.Unwrap(err) {
		for _, secret := range append(secrets, canary) {
			require.NotContains(t, err.Error(), secret)
		}
	}
}
