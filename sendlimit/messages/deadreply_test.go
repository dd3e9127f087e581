package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestRepliesAboutDeadLettersAreChecked(t *testing.T) {
	t.Parallel()
	const one = int64(1)
	for name, row := range map[string]struct {
		operation string
		answer    any
	}{
		"nothing":                      {"retry", nil},
		"an unknown status":            {"retry", []any{int64(99), one, one, one}},
		"a status of another script":   {"retry", []any{one, one, one, one}},
		"retried when":                 {"retry", []any{int64(0), one}},
		"cut short":                    {"retry", []any{int64(0), one, one, one}},
		"expired when":                 {"retry", []any{int64(8), one, int64(0), int64(0)}},
		"where to search on is no":     {"retry", []any{int64(7), one, "2"}},
		"a search that stands still":   {"retry", []any{int64(7), one, one}},
		"purged in words":              {"purge", []any{"OK"}},
		"purged twice":                 {"purge", []any{int64(2)}},
		"purged and nothing said":      {"purge", []any{}},
		"a list that goes on nowhere":  {"list", []any{one, "1", "a"}},
		"a list that goes on from 7":   {"list", []any{one, one, one}},
		"a list that stands still":     {"list", []any{one, one, "a"}},
		"a list without where it ends": {"list", []any{one}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.FixedReply{Reply: row.answer}
			dead, err := messages.NewDeadLetters(client, sendlimit.Options{})
			require.NoError(t, err)
			timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{})
			require.NoError(t, err)
			switch row.operation {
			case "retry":
				_, err = dead.Retry(t.Context(), messages.RetryRequest{User: "alice", ID: "a", Generation: "g"})
			case "purge":
				_, err = dead.Purge(t.Context(), "alice", "a")
			default:
				_, err = timeline.List(t.Context(), sendlimit.ListRequest{User: "alice"})
			}
			require.ErrorIs(t, err, fault.ErrReply)
			require.NotContains(t, err.Error(), "alice")
		})
	}
}
