package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/taskstest/heavy"
)

// manyPlaces is more than a call may read or pass over beside what it does for a few.
const manyPlaces = 25_000

// maxWork is the most that a call may do: with it, the slowest takes less than 5 ms.
func maxWork() heavy.Work {
	return heavy.Work{Commands: 1800, Elements: 22_000, Passed: 40_000, Loops: 24_000}
}

// Whatever is stored and whatever the rules, no call blocks the server: a search goes on in
// further calls. The work is counted, since machines differ. The row "heavy" of bench has
// the times. A run plays half of the pairs of rules and of what is stored.
func TestNoCallReadsAllPlaces(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Shared(t)
	store, client := server.Client(), server.Client()
	counter, err := heavy.NewCounter(server.Client())
	require.NoError(t, err)
	client.AddHook(counter)
	day := noon().Add(12 * time.Hour)
	cases, err := heavy.Cases()
	require.NoError(t, err)
	half := drawn(t, 2)
	for i, crowd := range heavy.Crowds(day, manyPlaces) {
		require.NoError(t, crowd.Fill(t.Context(), store))
		for j, c := range cases {
			if (i+j)%2 != half {
				continue
			}
			operations, err := c.Operations(client, store, crowd.User, day)
			require.NoError(t, err)
			for _, o := range operations {
				if o.Prepare != nil {
					require.NoError(t, o.Prepare(t.Context(), 0))
				}
				work, err := counter.MaxOf(func() error { return o.Do(t.Context(), 0) })
				require.NoError(t, err, "%s %s %s", crowd.User, c.Name, o.Name)
				t.Logf("%-8s %-10s %-16s %+v", crowd.User, c.Name, o.Name, work)
				if work.Exceeds(maxWork()) {
					t.Errorf("%s %s %s does %+v in a call, more than %+v", crowd.User, c.Name, o.Name, work, maxWork())
				}
			}
		}
	}
}
