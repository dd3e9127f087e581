package message_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func TestADraftWithAWrongWindow(t *testing.T) {
	t.Parallel()
	const (
		from, until = `"2026-11-22T09:00:00Z"`, `"2026-11-22T10:00:00Z"`
		window      = `"window":{"from":` + from + `,"until":` + until + `}`
		nearest     = `"window":{"from":` + from + `,"until":` + until + `,"prefer":"nearest"}`
	)
	for text, want := range map[string]string{
		window:                         "",
		nearest + `,"send_at":` + from: "",
		`"window":{"from":"now","until":` + until + `}`: "",
		nearest:                                                 "send_at is required: an RFC 3339 time such as 2040-06-22T11:11:11Z, or now",
		nearest + `,"send_at":"now"`:                            "send_at can't be now with prefer nearest: use prefer earliest, or a time to be near to",
		window + `,"send_at":"now"`:                             "send_at and window can't be given together: leave one out, or use prefer nearest",
		window + `,"on_conflict":"shift"`:                       "on_conflict has no meaning with a window: leave it out",
		window + `,"late":"now"`:                                "late has no meaning with a window: leave it out",
		window + `,"shift_until":` + until:                      "shift_until has no meaning with a window: leave it out",
		window + `,"expires_at":` + from:                        "expires_at, 2026-11-22T09:00:00Z, is not after window.from",
		`"window":{"from":` + from + `}`:                        "window.until is required: an RFC 3339 time such as 2040-06-22T11:11:11Z",
		`"window":{"until":"now"}`:                              `window.until "now" is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z`,
		`"window":{"from":` + until + `,"until":` + until + `}`: "window.until, 2026-11-22T10:00:00Z, is not after window.from",
		`"window":{"from":` + from + `,"until":` + until + `,"prefer":"worst"}`:              `window.prefer "worst" is not allowed: use earliest, latest, nearest, spread or best`,
		`"window":{"from":{"local":"9 o'clock"},"until":` + until + `}`:                      `window.from "9 o'clock" is not allowed: `,
		`"window":{"from":{"local":"2026-11-22T09:00","zone":"Mars"},"until":` + until + `}`: `window.from.zone "Mars" is not allowed: `,
	} {
		m, err := decoded(`{"user":"a","title":"t",` + text + `}`)
		if err == nil {
			err = m.Validate()
		}
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
}

func TestAnEncodedWindowIsTheSame(t *testing.T) {
	t.Parallel()
	at := message.Time{Time: time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)}
	for _, w := range []message.ResolvedWindow{
		{From: at, Until: at, Prefer: policy.PreferEarliest}, {From: at, Until: at, SendAt: at, Prefer: policy.PreferNearest},
	} {
		text := message.EncodeWindow(w)
		require.LessOrEqual(t, len(text), 64)
		require.Equal(t, &w, message.DecodeWindow(text))
		require.Nil(t, message.DecodeLocal(text))
	}
	for _, text := range []string{"", "u 2026-11-22T09:00:00 UTC ", "w latest 1 2", "w latest 1 x ."} {
		require.Nil(t, message.DecodeWindow(text), text)
	}
}
