package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func TestReadLate(t *testing.T) {
	t.Parallel()
	perMinute := policy.Rule{Limit: 1, Window: time.Minute}
	for reason, want := range map[string]policy.Late{
		"late":                     {},
		"late quiet":               {QuietHours: true},
		"late 1 60000":             {InTheWay: perMinute},
		"late 1 60000 marketing":   {InTheWay: perMinute, Category: "marketing"},
		"late 10 -3":               {InTheWay: policy.Rule{Limit: 10, Period: calendar.Day}},
		"late 1":                   {}, // what can't be read
		"late 0 60000":             {},
		"late 1 -9 marketing":      {},
		"late one 60000 marketing": {},
		"late 1 soon":              {},
	} {
		late, ok := policy.ReadLate(reason)
		require.True(t, ok, reason)
		require.Equal(t, want, late, reason)
	}
	for _, reason := range []string{"", "expired", "later", "latequiet"} {
		_, ok := policy.ReadLate(reason)
		require.False(t, ok, reason)
	}
}
