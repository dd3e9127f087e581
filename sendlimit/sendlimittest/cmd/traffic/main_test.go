package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTrafficIsMessagesOfTheComingYear(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 11, 12, 0, time.UTC)
	var out, source bytes.Buffer
	require.NoError(t, run([]string{"-lines", "300"}, &out, &source, now))
	require.Contains(t, source.String(), "traffic, 300 lines")

	users := make(map[string]bool)
	ids := make(map[string]bool)
	for line := range bytes.Lines(out.Bytes()) {
		var m message
		require.NoError(t, json.Unmarshal(line, &m))
		require.False(t, m.SendAt.Before(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)))
		require.True(t, m.SendAt.Before(now.AddDate(0, 0, 366)), "within the reach")
		require.NotEmpty(t, m.Title)
		users[m.User], ids[m.ID] = true, true
	}
	require.Len(t, ids, 300)
	require.Greater(t, len(users), 10)

	var again, aYearOn bytes.Buffer
	require.NoError(t, run([]string{"-lines", "300"}, &again, &source, now))
	require.Equal(t, out.String(), again.String(), "the same every time")
	require.NoError(t, run([]string{"-lines", "1", "-start", "2030-01-01T00:00:00Z"}, &aYearOn, &source, now))
	require.Contains(t, aYearOn.String(), `"send_at":"2030-`)

	require.ErrorContains(t, run([]string{"-start", "soon"}, &out, &source, now), "reading -start")
	require.Error(t, run([]string{"-line", "1"}, &out, &source, now))
}
