package sendlimittest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// Arrivals up to a second late break a rule only if no places within that second keep it.
func TestArrivals(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse(policy.DefaultName, "", "2/10s", "3/calendar_minute")
	require.NoError(t, err)
	p.QuietHours, err = policy.ParseQuietHours("00:02-00:03")
	require.NoError(t, err)
	p.Categories = map[string]policy.CategoryRules{
		"news":  {Rules: []policy.Rule{{Limit: 1, Window: 20 * time.Second}}},
		"codes": {Exempt: true},
	}
	model, err := sendlimittest.NewModel(p, policy.DefaultReach)
	require.NoError(t, err)
	midnight := time.Date(2027, time.March, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		category string
		at       []time.Duration
		faults   int
	}{
		"two in a window":                     {at: []time.Duration{10 * time.Second, 10 * time.Second}},
		"the first of three is a second late": {at: []time.Duration{11 * time.Second, 12 * time.Second, 20 * time.Second}},
		"a millisecond less": {
			at: []time.Duration{11 * time.Second, 12 * time.Second, 20*time.Second - time.Millisecond}, faults: 1,
		},
		"four in a minute": {
			at: []time.Duration{2 * time.Second, 20 * time.Second, 40 * time.Second, 59 * time.Second}, faults: 1,
		},
		"the first is of the minute before": {
			at: []time.Duration{999 * time.Millisecond, 20 * time.Second, 40 * time.Second, 59 * time.Second},
		},
		"its place was before quiet hours": {at: []time.Duration{2*time.Minute + 999*time.Millisecond}},
		"quiet hours":                      {at: []time.Duration{2*time.Minute + time.Second}, faults: 1},
		"quiet hours have ended":           {at: []time.Duration{3 * time.Minute}},
		"a category's own rule": {
			category: "news", at: []time.Duration{10 * time.Second, 20 * time.Second, 39 * time.Second}, faults: 1,
		},
		"exempt": {category: "codes", at: []time.Duration{2*time.Minute + time.Second, 122 * time.Second, 122 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrivals []sendlimittest.Arrival
			for _, at := range c.at {
				arrivals = append(arrivals, sendlimittest.Arrival{ID: at.String(), Category: c.category, At: midnight.Add(at)})
			}
			require.Len(t, model.ArrivalFaults("alice", time.Second, arrivals), c.faults)
		})
	}
}
