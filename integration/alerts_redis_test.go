package integration_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// Each threshold alerts once, however many submitters cross it together, and however
// often the count falls below it and crosses it again.
func TestConcurrentSubmittersAlertOnceOnRedis(t *testing.T) {
	server := redistest.Shared(t)
	client := server.Client()
	p, err := policy.Parse("alerts", "", "50/calendar_day")
	require.NoError(t, err)
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Records: true, Rules: story.RulesBy(t, p)})
	require.NoError(t, err)
	settings, err := settings.NewUsers(client, "")
	require.NoError(t, err)
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Contact: "ada@example.org"}))

	day := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	raised := make([][]string, 100)
	var group sync.WaitGroup
	for i := range raised {
		group.Go(func() {
			for try := range 3 {
				id := strconv.Itoa(i)
				d, err := timeline.Reserve(t.Context(), sendlimit.Request{
					User: "alice", ID: id, At: day.Add(time.Duration(i) * time.Minute),
					Record: &sendlimit.Record{Generation: keyspace.NewToken(), Fingerprint: id},
				})
				if err != nil {
					t.Errorf("submit %d: %v", i, err)
					return
				}
				raised[i] = append(raised[i], d.Notices...)
				if try == 2 {
					return
				}
				if _, err := timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: id}); err != nil {
					t.Errorf("release %d: %v", i, err)
				}
			}
		})
	}
	group.Wait()
	var all []string
	for _, notices := range raised {
		all = append(all, notices...)
	}
	first := notices.FormatID(notices.UserQuota, day, 80, "alice")
	second := notices.FormatID(notices.UserQuota, day, 100, "alice")
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	kept, err := client.ZRange(t.Context(), keys.Notices(keyspace.Partition("alice")), 0, -1).Result()
	require.NoError(t, err)
	require.ElementsMatch(t, kept, all, "each is said to one submitter")
	require.Contains(t, kept, second)
	require.Subset(t, []string{first, second}, kept)
}
