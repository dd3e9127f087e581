package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPastTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 11, 11, 11, 123456789, time.UTC)
	const form = "an RFC 3339 time such as 2026-11-22T11:11:11Z, now, or a time before now such as -2h"
	const passed = "a time in the past: later messages were not sent before the restore"
	const ago = "a duration after the -, such as -90s, -90m, -36h or -7d"
	for _, row := range []struct{ text, want string }{
		{"now", "2026-11-22T11:11:11.123Z"},
		{"-2h", "2026-11-22T09:11:11.123Z"},
		{"-7d", "2026-11-15T11:11:11.123Z"},
		{"-0s", "2026-11-22T11:11:11.123Z"},
		{"+0s", "2026-11-22T11:11:11.123Z"},
		{"2026-11-22T12:11:11+01:00", "2026-11-22T11:11:11Z"},
		{"2026-11-22T11:11:11.124Z", passed},
		{"+1s", passed},
		{"2027-01-01T00:00:00Z", passed},
		{"-", ago},
		{"--2h", ago},
		{"-+2h", ago},
		{"-2", ago},
		{"yesterday", form},
		{"2026-11-22", form},
		{"2026-11-22 11:11", form}, // of which zone?
		{"2h", form},
	} {
		at, err := pastTime(row.text, now)
		if err != nil {
			require.EqualError(t, err, `drop-due-before "`+row.text+`" is not allowed: use `+row.want)
			continue
		}
		require.Equal(t, row.want, at.Format(time.RFC3339Nano), row.text)
	}
	at, err := pastTime("", now)
	require.NoError(t, err)
	require.Zero(t, at)
}
