package dashboard

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/message"
)

func TestLength(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"0 ms": time.Duration(0), "1 ms": time.Millisecond, "999 ms": 999*time.Millisecond + 999*time.Microsecond, "1 s": time.Second, "1.5 s": 1590 * time.Millisecond,
		"9.9 s": 9990 * time.Millisecond, "10 s": 10 * time.Second, "59 s": 59*time.Second + 999*time.Millisecond, "1 min": time.Minute, "1 min 1 s": 61 * time.Second,
		"59 min 59 s": time.Hour - time.Second, "1 h": time.Hour + time.Second, "1 h 30 min": 90 * time.Minute, "1 d": 24 * time.Hour, "2 d 3 h": 51*time.Hour + 59*time.Minute,
		"400 d": 400 * 24 * time.Hour, "2.5 s": 2.5, "250 ms": int64(250),
	} {
		require.Equal(t, want, length(value), "%v", value)
	}
	for _, negative := range []any{-time.Hour, -0.5, int64(-3), math.Inf(-1), math.NaN(), "text", nil} {
		require.Equal(t, "0 ms", length(negative), "%v", negative)
	}
	require.Equal(t, "5 s ago", ago(time.Unix(105, 0), time.Unix(100, 0)), "of the past")
}

func TestNoLengthIsNegative(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := length(time.Duration(rapid.Int64().Draw(t, "length")))
		require.NotContains(t, text, "-")
		require.NotContains(t, text, "−")
		require.Regexp(t, `^\d+(\.\d)? (ms|s|min|h|d)( \d+ (s|min|h))?$`, text)
	})
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	require.Equal(t, "0 ms ago", ago(now, now))
	require.Equal(t, "1 h ago", ago(now, message.Time{Time: now.Add(-time.Hour)}))
	require.Equal(t, "in 2 d 1 h", ago(now, now.Add(49*time.Hour)))
	require.Empty(t, ago(now, time.Time{}))
}

func TestNumber(t *testing.T) {
	t.Parallel()
	n := int64(1234)
	for want, value := range map[string]any{
		"0": 0, "999": 999, "1,000": 1000, "12,345": 12345, "1,234,567": 1_234_567, "1,234": &n, "−1": -1, "−12,345": -12345, "−123": -123, "3": 2.6,
		"9,223,372,036,854,775,807": int64(math.MaxInt64), "−9,223,372,036,854,775,808": int64(math.MinInt64),
	} {
		require.Equal(t, want, number(value))
	}
	require.Empty(t, number((*int64)(nil)))
	require.Empty(t, number("text"))
	for want, value := range map[string]int{"0": 0, "9999": 9999, "10k": 10_000, "12.3k": 12_345, "999.9k": 999_999, "1M": 1_000_000, "12.3M": 12_345_678} {
		require.Equal(t, want, short(value))
	}
	require.Equal(t, "1 message", plural(1, "message"))
	require.Equal(t, "0 messages", plural(0, "message"))
	require.Equal(t, "1,000 messages", plural(1000, "message"))
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		used, limit any
		want        int
	}{{0, 10, 0}, {5, 10, 50}, {int64(1), int64(3), 33}, {20, 10, 100}, {-1, 10, 0}, {1, 0, 0}, {1.0, 2.0, 50}, {"x", 3, 0}} {
		require.Equal(t, row.want, percent(row.used, row.limit))
	}
}

func TestTimesForPeopleAndMachines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 11, 11, 11, 0, time.FixedZone("", 3600))
	require.Equal(t, "2026-11-21 10:11:11 UTC", when(at))
	require.Equal(t, "2026-11-21 10:11:11.050 UTC", when(message.Time{Time: at.Add(50 * time.Millisecond)}))
	require.Equal(t, "2026-11-21T10:11:11.000Z", iso(&message.Time{Time: at}))
	require.Equal(t, "10:11", clock(at))
	require.Equal(t, "2026-11-21T10:11:11", local(at))
	for _, none := range []any{time.Time{}, message.Time{}, (*message.Time)(nil), "text", nil} {
		require.Empty(t, when(none))
		require.Empty(t, iso(none))
		require.Empty(t, clock(none))
		require.Empty(t, local(none))
	}
}

func TestAPITime(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"2026-11-22T11:11:11": "2026-11-22T11:11:11Z", "2026-11-22T11:11": "2026-11-22T11:11:00Z", " 2026-11-22 11:11 ": "2026-11-22T11:11:00Z",
		"2026-11-22": "2026-11-22T00:00:00Z", "2026-11-22T11:11:11.250": "2026-11-22T11:11:11.25Z", "2026-11-22 11:11:11": "2026-11-22T11:11:11Z",
		"2026-11-22T11:11:11Z": "2026-11-22T11:11:11Z", "2026-11-22T11:11:11+02:00": "2026-11-22T11:11:11+02:00", "now": "now", "": "", "soon": "soon",
		"2026-02-30": "2026-02-30", "22.11.2026": "22.11.2026",
	} {
		require.Equal(t, want, apiTime(given), given)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), 0).UTC()
		require.Equal(t, at.Format(time.RFC3339Nano), apiTime(local(at)), "what a form shows is what it sends")
	})
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                            "",
		"there is no policy":          "There is no policy.",
		"There is one.":               "There is one.",
		"send_at is required":         "send_at is required.",
		"categories.news: too many":   "categories.news: too many.",
		"really?":                     "Really?",
		"2 messages":                  "2 messages.",
		"größer":                      "Größer.",
		"über":                        "über.",
		"send_at":                     "send_at.",
		"\"x\" is not allowed":        "\"x\" is not allowed.",
		"clipped…":                    "Clipped…",
		"https://example.com is away": "https://example.com is away.",
	} {
		require.Equal(t, want, sentence(given))
	}
	require.Equal(t, "alice already has a message.", (&problem{Detail: "alice already has a message", Outcome: message.Outcome{User: "alice"}}).Sentence())
	require.Equal(t, "Alices are many.", (&problem{Detail: "alices are many", Outcome: message.Outcome{User: "alice"}}).Sentence())
	require.Equal(t, "Not Found", (&problem{Status: 404}).Sentence())
}

func TestRefsAndClips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		user, id := rapid.String().Draw(t, "user"), rapid.String().Draw(t, "id")
		gotUser, gotID, ok := parseRef(ref(user, id))
		require.True(t, ok)
		require.Equal(t, user, gotUser)
		require.Equal(t, id, gotID)
		most := rapid.IntRange(0, 20).Draw(t, "most")
		short := clip(user, most)
		require.LessOrEqual(t, len(short), max(most, 0)+len("…"))
		require.True(t, !utf8.ValidString(user) || utf8.ValidString(short))
		require.True(t, strings.HasPrefix(user, strings.TrimSuffix(short, "…")) || len(user) <= most)
	})
	for _, wrong := range []string{"", "alice", "%zz m", "alice %zz"} {
		_, _, ok := parseRef(wrong)
		require.False(t, ok, wrong)
	}
}

func TestPathsOfTheAPI(t *testing.T) {
	t.Parallel()
	for want, segments := range map[string][]string{
		"/v1/users/%2E%2E/messages/%2E": {"users", "..", "messages", "."}, "/v1/users/a%2Fb%3Fc%23d": {"users", "a/b?c#d"}, "/v1/users/%252F": {"users", "%2F"},
		"/v1/users/a%20b+c": {"users", "a b+c"}, "/v1/users/%2E%2E%2E": {"users", "..."}, "/v1/users/": {"users", ""},
	} {
		require.Equal(t, want, apiPath(segments...))
	}
	require.Equal(t, "/user?a=1&n=a%2Bb", link("/user", "n", "a+b", "a", 1, "none", "", "zero", time.Time{}))
}

func TestHarmlessCells(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"", "'=1", "'+1", "'-1", "'@x", "'\tx", "'\rx", "a=1", "1", "ä"}, harmless([]string{"", "=1", "+1", "-1", "@x", "\tx", "\rx", "a=1", "1", "ä"}))
}

func TestDiff(t *testing.T) {
	t.Parallel()
	require.Empty(t, diffOf("a\nb", "a\nb"))
	require.Equal(t, []diffLine{{"-", "a"}, {"+", "b"}}, diffOf("a", "b"))
	require.Equal(t, []diffLine{{" ", "b"}, {"-", "c"}, {"+", "x"}, {" ", "d"}}, diffOf("a\nb\nc\nd\ne", "a\nb\nx\nd\ne"))
	require.Equal(t, []diffLine{{" ", "a"}, {"+", "b"}}, diffOf("a", "a\nb"))
}

// The lines without a sign or with one of the two are a part of the text before or after, in
// order, and all that differs is there.
func TestDiffsAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12)
		before, after := list.Draw(t, "before"), list.Draw(t, "after")
		diff := diffOf(strings.Join(before, "\n"), strings.Join(after, "\n"))
		require.Equal(t, len(diff) == 0, strings.Join(before, "\n") == strings.Join(after, "\n"))
		was, is := strings.Split(strings.Join(before, "\n"), "\n"), strings.Split(strings.Join(after, "\n"), "\n")
		removed, added := 0, 0
		for _, line := range diff {
			switch line.Sign {
			case "-":
				removed++
			case "+":
				added++
			}
			if line.Sign != "+" {
				was = behind(t, was, line.Text)
			}
			if line.Sign != "-" {
				is = behind(t, is, line.Text)
			}
		}
		require.Equal(t, len(strings.Split(strings.Join(after, "\n"), "\n"))-len(strings.Split(strings.Join(before, "\n"), "\n")), added-removed)
	})
}

// behind returns what follows a line, which has to be there.
func behind(t *rapid.T, lines []string, line string) []string {
	for i, one := range lines {
		if one == line {
			return lines[i+1:]
		}
	}
	require.Fail(t, "no line", line)
	return nil
}
