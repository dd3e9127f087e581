package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// tinySizes are enough to see that every row can be measured.
func tinySizes() sizes {
	return sizes{
		name:  "tiny",
		users: 200, slices: 2, reserves: 200, submits: 100, histories: 2, booked: 1, busiest: 2_000, category: 500, crowd: 300, heavyTries: 1,
		warmUp: 200, deviceUsers: 100, memoryUsers: []int{20, 50}, pendingUsers: []int{50, 100}, indexUsers: []int{50, 100},
		bulkLines: 300, bulkRounds: 1, policies: 20,
		deliveries: 100, deliveryRounds: 1, backlogUsers: 5,
		distant: 100, herd: 100, herdWithin: 4 * time.Second,
		dueMessages: 50, dueWithin: time.Second, pending: 100, follow: time.Second, quiet: 5, quietWithin: time.Second,
		workers: []int{1, 2}, slowPushes: 100, restartMessages: 50, restartWithin: 2 * time.Second,
		idleFor: time.Second, manyAMinute: 3_000, manyFor: 2 * time.Second, manyRounds: 1,
	}
}

func TestEveryRowIsMeasured(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	for _, m := range measurements() {
		t.Run(m.rows[0], func(t *testing.T) {
			t.Parallel()
			rows, err := m.run(t.Context(), tinySizes())
			require.NoError(t, err)
			names := make([]string, len(rows))
			for i, r := range rows {
				names[i] = r.Name
				require.NotEmpty(t, r.What)
				require.NotEmpty(t, r.Goal)
				require.NotEmpty(t, r.Measured)
				require.NotEmpty(t, r.Figures)
				require.Contains(t, []verdict{ok, behind, stated}, r.Verdict)
			}
			require.Equal(t, m.rows, names, "the rows promised, in order")
		})
	}
}

func TestALargeStoreIsMeasured(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	found, err := measureLarge(t.Context(), 250, tinySizes())
	require.NoError(t, err)
	require.Len(t, found.stores, 2)
	require.Equal(t, []int{50, 250}, []int{found.stores[0].pending, found.stores[1].pending})
	for _, f := range largeFigures() {
		require.Positive(t, f.of(found.stores[1]), f.what)
		require.Contains(t, found.markdown(), f.what)
	}
}

func TestRunPrintsAndSavesTheTable(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	path := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+saveFrom+"old\n"+saveUntil+"after\n"), 0o600))
	var table, progress bytes.Buffer

	require.NoError(t, run(t.Context(), []string{"-quick", "-only", "^relay$", "-save", path}, &table, &progress))

	require.Contains(t, table.String(), "Redis time of a look")
	require.Contains(t, progress.String(), "relay")
	saved, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(saved), table.String())
	require.NotContains(t, string(saved), "old\n")
	require.Regexp(t, `(?s)^before\n.*\nafter\n$`, string(saved))
}

func TestRunPrintsJSON(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	var out, progress bytes.Buffer

	require.NoError(t, run(t.Context(), []string{"-quick", "-only", "^relay$", "-json"}, &out, &progress))

	var got report
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Len(t, got.Rows, 1)
	require.Equal(t, "relay", got.Rows[0].Name)
	require.NotEmpty(t, got.Rows[0].Verdict)
}

func TestRunRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	for _, args := range [][]string{{"-only", "no such row"}, {"-only", "("}, {"-fast"}} {
		require.Error(t, run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}), "%q", args)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, step := range []struct {
		row  row
		want verdict
	}{
		{atMost("", "", 1.1, 1.1), ok},
		{atMost("", "", 1.101, 1.1), behind}, // printed as 1.10, and still too much
		{atLeast("", "", 0.45, 0.45), ok},
		{atLeast("", "", 0.449, 0.45), behind},
		{state("", "", "5 ms"), stated},
	} {
		require.Equal(t, step.want, step.row.Verdict, "%s against %s", step.row.Measured, step.row.Goal)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	require.Zero(t, median(nil))
	require.InDelta(t, 2, median([]float64{3, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 0)
	require.InDelta(t, 4, quantile([]float64{4, 1, 2, 3}, 1), 0)
	require.InDelta(t, 1, quantile([]float64{4, 1, 2, 3}, 0), 0)
}
