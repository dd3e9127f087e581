package tasks_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// The clocks of a cluster's masters are up to 50 seconds apart. All is accepted and charged, and
// each message goes out at its time by the clock of the master that has it.
func TestMastersWithOtherClocks(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for name, row := range map[string]struct {
		ahead   []time.Duration
		options backend.Options
	}{
		"in the queue at once": {[]time.Duration{0, 8 * time.Second, -5 * time.Second}, backend.Options{Horizon: policy.DefaultReach}},
		"handed over":          {[]time.Duration{0, 50 * time.Second, 20 * time.Second}, backend.Options{Horizon: 20 * time.Second}},
		"one queue":            {[]time.Duration{50 * time.Second, 25 * time.Second, 0}, backend.Options{Queues: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tellApart(t, row.ahead, row.options) })
		})
	}
}

// tellApart has a worker deliver charged messages for users of each master.
func tellApart(t *testing.T, ahead []time.Duration, o backend.Options) {
	t.Helper()
	t.Cleanup(func() { time.Sleep(2 * time.Second) }) // the client library takes a second to notice that it is closed
	cluster := redistest.Apart(t, ahead...)
	s := &story{T: t, recorder: notifiertest.NewRecorder(time.Now), began: time.Now(), shared: o}
	policies, err := settings.NewPolicies(cluster, "")
	require.NoError(t, err)
	p, err := policy.Parse(policy.DefaultName, "", "20/minute")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), p))
	paces, err := rate.NewPaces(cluster, "", deliver.PaceTarget)
	require.NoError(t, err)
	require.NoError(t, paces.Apply(t.Context(), rate.Pace{Rate: rate.Rate{Count: 20, Interval: time.Second}}))
	directory, err := accounts.New(cluster, "")
	require.NoError(t, err)
	require.NoError(t, directory.SetTier(t.Context(), accounts.Tier{Name: "acme", MessagesPerHour: 1000}))
	_, err = directory.Create(t.Context(), accounts.Account{Name: "acme", Tier: "acme"})
	require.NoError(t, err)
	s.Submitter = s.newSubmitterOn(taskstest.Open(t, cluster, o), submit.Options{})
	s.workOn(taskstest.Open(t, cluster, o), retrying(3), func(o *tasks.WorkerOptions) { o.RelayEvery = time.Second })
	s.recorder.Script(unavailable(), unavailable(), unavailable())

	const users = 6
	masters := make(map[string]time.Duration) // by user
	slots := make(map[time.Duration]int)
	for i := 0; len(masters) < users; i++ {
		user := fmt.Sprint("user-", i)
		master, err := cluster.MasterForKey(t.Context(), "{"+keyspace.Tag(keyspace.Partition(user))+"}")
		require.NoError(t, err)
		var n int
		_, err = fmt.Sscanf(master.Options().Addr, "master-%d:6379", &n)
		require.NoError(t, err)
		if slots[ahead[n]]++; slots[ahead[n]] <= users/len(ahead) {
			masters[user] = ahead[n]
		}
	}
	s.until(1500 * time.Millisecond)
	expected := 0
	for user, by := range masters {
		for i, after := range []time.Duration{10 * time.Second, 25 * time.Second, 40 * time.Second, 100 * time.Second} {
			s.accepted(message.Message{
				ID: fmt.Sprint(i), User: user, Account: "acme", Title: "a", SendAt: s.at(after + by).Truncate(time.Millisecond),
			})
			expected++
		}
		o, err := s.Move(t.Context(), user, "2", s.at(50*time.Second+by))
		require.NoError(t, err)
		require.Equal(t, message.Moved, o.Outcome, "%+v", o)
		o, err = s.Cancel(t.Context(), user, "1")
		require.NoError(t, err)
		require.Equal(t, message.Cancelled, o.Outcome, "%+v", o)
		expected--
		o = s.submit(message.Message{ID: "now", User: user, Account: "acme", Title: "a", Now: true})
		require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
		expected++
	}
	s.until(2 * time.Minute)
	delivered := make(map[string]int)
	for _, d := range s.recorder.Deliveries() {
		n := d.Notification
		delivered[n.User+n.ID]++
		late := d.At.Add(masters[n.User]).Sub(n.SendAt)
		require.GreaterOrEqual(t, late, time.Duration(0), "%s %s: early", n.User, n.ID)
		latest := 10 * time.Millisecond
		if n.ID == "now" {
			latest = queue.Polling{}.WithDefaults().Forward + time.Second
		}
		if n.Attempt > 1 {
			latest += 6 * time.Second
		}
		require.Less(t, late, latest, "%s %s: late", n.User, n.ID)
	}
	require.Len(t, delivered, expected)
}
