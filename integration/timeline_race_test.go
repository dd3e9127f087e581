package integration_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A limiter that counts first and inserts then would accept two at once.
func TestOneWinnerAmongGoroutines(t *testing.T) {
	server := redistest.Shared(t)
	for _, c := range contests(t, server.Client()) {
		require.Len(t, c.race(t, 1000), 1, "winners of %s", c.user)
	}
}

// contest is about the only place that a user has; the first id wins.
type contest struct {
	user    string
	reserve func(ctx context.Context, id string) (sendlimit.Decision, error)
}

// contests returns one without and one with records.
func contests(t *testing.T, client *redis.Client) []contest {
	t.Helper()
	when := time.Date(2050, time.November, 22, 11, 11, 11, 0, time.UTC)
	var all []contest
	for _, records := range []bool{false, true} {
		timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Records: records})
		require.NoError(t, err)
		user := fmt.Sprintf("records-%t", records)
		all = append(all, contest{user, func(ctx context.Context, id string) (sendlimit.Decision, error) {
			r := sendlimit.Request{User: user, ID: id, At: when, Now: when.Add(-time.Hour)}
			if records {
				r.Record = &sendlimit.Record{Generation: keyspace.NewToken(), Fingerprint: id}
			}
			return timeline.Reserve(ctx, r)
		}})
	}
	return all
}

// race lets goroutines ask for the place at the same time, and returns the ids that
// won.
func (c contest) race(t *testing.T, goroutines int) []string {
	t.Helper()
	ctx, start := t.Context(), make(chan struct{})
	decisions, errs := make([]sendlimit.Decision, goroutines), make([]error, goroutines)
	id := func(i int) string { return strconv.Itoa(i) }
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			<-start
			decisions[i], errs[i] = c.reserve(ctx, id(i))
		})
	}
	close(start)
	wg.Wait()
	var winners []string
	for i, d := range decisions {
		require.NoError(t, errs[i])
		if d.Allowed {
			winners = append(winners, id(i))
			continue
		}
		require.Equal(t, fault.CodeSendLimit, d.Code)
		require.Equal(t, 1, d.Violations[0].ConflictsTotal)
	}
	return winners
}
