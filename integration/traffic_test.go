package integration_test

import (
	"context"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// trafficLines is how much of the traffic is submitted; allTrafficEnv asks for all of it.
const (
	trafficLines  = 8000
	allTrafficEnv = "SENDLIMIT_TEST_ALL_TRAFFIC"
)

// Real sends, or generated ones if those are absent: the outcome, violations and free times
// of every line are the model's. A user's lines run in the order of the file, one at a time;
// different users run in parallel.
func TestTrafficAgreesWithTheModel(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	trace, err := traffic.Load(0)
	require.NoError(t, err)
	t.Log(trace.Source)
	// Days after the server's clock, so that no key expires meanwhile.
	start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 3)
	p := policy.Default()
	want, err := sendlimittest.Judge(trace, p, start, policy.DefaultReach)
	require.NoError(t, err)
	outcomes := make(map[string]int)
	for _, d := range want {
		if d.Allowed {
			outcomes["accepted"]++
		} else {
			outcomes[d.Violations[0].Rule.String()]++
		}
	}
	t.Log(outcomes)
	require.Len(t, outcomes, 4, "each rule refuses some")
	if trace.Real {
		require.Equal(t, map[string]int{
			"accepted": 42_514, "1/minute": 37_684, "5/hour": 1_241, "10/calendar_day": 520,
		}, outcomes)
	}

	if os.Getenv(allTrafficEnv) == "" {
		trace.Sends = trace.Sends[:trafficLines]
	}
	server := redistest.Shared(t)
	t.Run("one call a line", func(t *testing.T) {
		judgeTraffic(t, server.Client(), "single", trace, start, want)
	})
	// In a pipeline, only the script that the server does not know fails,
	// and the commands after it are done before it is repeated. So scripts are loaded
	// first, and a user has one line in flight.
	t.Run("calls of many users in a pipeline", func(t *testing.T) {
		for _, script := range lua.All() {
			require.NoError(t, script.Load(t.Context(), server.Client()).Err())
		}
		pipeline, err := server.Client().AutoPipeline()
		require.NoError(t, err)
		defer pipeline.Close()
		judgeTraffic(t, pipeline, "pipelined", trace, start, want)
	})
}

// judgeTraffic submits the traffic to a separate timeline.
func judgeTraffic(
	t *testing.T, client redis.Scripter, prefix string, trace traffic.Trace, start time.Time, want []sendlimit.Decision,
) {
	t.Helper()
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Prefix: prefix})
	require.NoError(t, err)
	lines := make(map[string][]int) // for each user
	for i, send := range trace.Sends {
		lines[send.User] = append(lines[send.User], i)
	}
	users := make(chan []int)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for of := range users {
				for _, i := range of {
					if ctx.Err() != nil {
						break // one wrong line is enough
					}
					r := trace.Request(i, start)
					r.Now = start
					got, err := timeline.Reserve(ctx, r)
					if err != nil || !reflect.DeepEqual(want[i], got) {
						t.Errorf("line %d, %+v: %v\nmodel %+v\nstore %+v", i+1, r, err, want[i], got)
						cancel()
					}
				}
			}
		})
	}
	for _, of := range lines {
		users <- of
	}
	close(users)
	wg.Wait()
	t.Logf("%d lines in %s", len(trace.Sends), time.Since(began).Round(time.Millisecond))
}
