package sendlimit_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// callEverything calls every operation that runs a script. It returns the
// errors by operation.
func callEverything(t *testing.T, client redis.Scripter) map[string]error {
	t.Helper()
	options := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute", "10/calendar_day"))}
	timeline, err := sendlimit.NewTimeline(client, options)
	require.NoError(t, err)
	gate, err := messages.NewGate(client, options)
	require.NoError(t, err)

	failed := make(map[string]error)
	ctx, user, id, now := t.Context(), "alice", "a", story.At("11:11:11")
	_, failed["reserve"] = timeline.Reserve(ctx, sendlimit.Request{User: user, ID: id, At: now, Shift: true})
	_, failed["check"] = timeline.Check(ctx, sendlimit.Request{User: user, ID: id})
	_, failed["move"] = timeline.Move(ctx, sendlimit.MoveRequest{User: user, ID: id, At: now})
	_, failed["release"] = timeline.Release(ctx, sendlimit.ReleaseRequest{User: user, ID: id})
	_, failed["next free"] = timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: user, Count: 3})
	_, failed["list"] = timeline.List(ctx, sendlimit.ListRequest{User: user})
	_, failed["usage"] = timeline.Usage(ctx, sendlimit.UsageRequest{User: user, From: now, To: now.Add(time.Hour)})
	_, failed["forbidden"] = timeline.Forbidden(ctx, sendlimit.ForbiddenRequest{User: user, From: now, To: now.Add(time.Hour)})
	delivery := messages.Delivery{User: user, ID: id, Generation: "g", Nonce: "n"}
	_, failed["claim"] = gate.Claim(ctx, delivery, story.Lease, now)
	_, failed["settle"] = gate.Settle(ctx, delivery, messages.Settlement{Outcome: messages.Delivered}, now)
	return failed
}

// Replies were used unchecked: any reply was taken for a decision.
func TestRepliesAreChecked(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]any{
		"nothing":               nil,
		"an empty array":        []any{},
		"text":                  "OK",
		"a float":               1.5,
		"a truth":               true,
		"a map":                 map[any]any{"a": 1},
		"an array of nothing":   []any{nil, nil, nil, nil, nil, nil},
		"an array of texts":     []any{"0", "1", "2", "3", "4", "5", "6"},
		"arrays in an array":    []any{[]any{}, []any{}, []any{}, []any{}},
		"an unknown status":     []any{int64(99), int64(1), int64(2), int64(3), int64(4), int64(5), "x"},
		"a negative status":     []any{int64(-1), int64(1), int64(2), int64(3), int64(4), int64(5), nil},
		"a number out of range": []any{int64(math.MinInt64), int64(math.MaxInt64), "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for operation, err := range callEverything(t, redistest.FixedReply{Reply: answer}) {
				require.ErrorIs(t, err, fault.ErrReply, operation)
			}
		})
	}
}

// Each reply has one error and otherwise the form that the script documents.
func TestRepliesAreCheckedToTheLastElement(t *testing.T) {
	t.Parallel()
	const one = int64(1)
	refusal := func(violation ...any) []any {
		return []any{one, one, one, one, one, int64(0), one, int64(0), "", violation}
	}
	for name, row := range map[string]struct {
		operation string
		answer    []any
	}{
		"cut short":                   {"reserve", []any{int64(0), one, one, one, one}},
		"no flags":                    {"move", []any{int64(0), one, one, one, "1", one}},
		"a status of another script":  {"check", []any{int64(8), one, one}},
		"where to search on is no":    {"reserve", []any{int64(7), one, "2"}},
		"a search that stands still":  {"reserve", []any{int64(7), one, one}},
		"no rule":                     {"reserve", refusal()},
		"rule 0":                      {"reserve", refusal(int64(0), one, one, one)},
		"rule 3 of 2":                 {"reserve", refusal(int64(3), one, one, one)},
		"a rule by its name":          {"reserve", refusal("1/minute", one, one, one)},
		"a conflict without a time":   {"check", refusal(one, one, one, one, "a")},
		"a conflict without an id":    {"check", refusal(one, one, one, one, one, one)},
		"quiet hours of no policy":    {"reserve", []any{int64(15), one, one, one, one, int64(0), one, int64(0), ""}},
		"a violation that is none":    {"move", []any{one, one, one, one, one, int64(0), one, int64(0), "", "1/minute"}},
		"a reservation without time":  {"list", []any{one, "a"}},
		"an id that is a number":      {"list", []any{one, one, one}},
		"a free time that is text":    {"next free", []any{one, int64(0), one, "2"}},
		"a search without an end":     {"next free", []any{one, one}},
		"a rule's usage missing":      {"usage", []any{one, one, []any{one, one, one}}},
		"a rule's usage cut short":    {"usage", []any{one, one, []any{one, one, one}, []any{one, one}, []any{}}},
		"no stretches":                {"usage", []any{one, one, []any{one, one, one}, []any{one, one, one}}},
		"half a stretch":              {"usage", []any{one, one, []any{one, one, one}, []any{one, one, one}, []any{one}}},
		"a place that is no time":     {"forbidden", []any{one, int64(0), int64(0), "a"}},
		"a place of another time":     {"forbidden", []any{one, int64(0), int64(0), one}},
		"a reading that stands still": {"forbidden", []any{one, one, one}},
		"verdict 5":                   {"claim", []any{int64(5), one, one}},
		"a claim without its content": {"claim", []any{int64(0), one, one, one, one, "news"}},
		"busy until when":             {"claim", []any{int64(2), one}},
		"lapsed without its time":     {"claim", []any{int64(4), one}},
		"a settlement in words":       {"settle", []any{"OK", one}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := callEverything(t, redistest.FixedReply{Reply: row.answer})[row.operation]
			require.ErrorIs(t, err, fault.ErrReply)
			require.NotContains(t, err.Error(), "alice")
		})
	}
}

// FuzzReply builds replies of any form. Each is either accepted or refused with
// ErrReply. None causes a panic.
func FuzzReply(f *testing.F) {
	for _, seed := range [][]byte{
		{},
		{0x81},
		{0x86, 0, 1, 2, 0, 1, 0},
		{0x89, 1, 2, 3, 0, 5, 0, 7, 0, 0x86, 1, 1, 0, 0, 0x41, 9},
		{0x83, 7, 1, 2},
		{0x84, 1, 2, 0x83, 1, 2, 3, 0x83, 1, 2, 3, 0x82, 1, 2},
		{0x87, 0, 1, 2, 3, 4, 0x41, 0x42},
		{0x83, 0xC0, 0xC1, 0x40},
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, shape []byte) {
		answer, _ := buildReply(shape, 0)
		for operation, err := range callEverything(t, redistest.FixedReply{Reply: answer}) {
			if err != nil && !errors.Is(err, fault.ErrReply) {
				t.Errorf("%s: %v", operation, err)
			}
		}
	})
}

// buildReply builds a reply from bytes: numbers (up to 63), texts, arrays of
// the following elements, and values that are invalid in replies.
func buildReply(shape []byte, depth int) (any, []byte) {
	if len(shape) == 0 {
		return nil, nil
	}
	first, rest := shape[0], shape[1:]
	switch {
	case first < 0x40:
		return int64(first) - 2, rest
	case first < 0x80:
		return string(rune(first)), rest
	case first < 0xC0 && depth < 4:
		array := make([]any, 0, first&0x0F)
		for range first & 0x0F {
			var element any
			element, rest = buildReply(rest, depth+1)
			array = append(array, element)
		}
		return array, rest
	case first == 0xC0:
		return nil, rest
	case first == 0xC1:
		return int64(math.MaxInt64), rest
	case first == 0xC2:
		return int64(math.MinInt64), rest
	default:
		return float64(first), rest
	}
}

// An unreadable value in the store is not invalid input of the caller: the
// error's chain must not have an InvalidError.
func TestWhatCantBeReadIsNotInvalid(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	require.NoError(t, client.HSet(t.Context(), keys.Policies(), "vip", `{"name":"vip","rules":["1/moon"]}`).Err())
	_, _, policyErr := policies.Load(t.Context(), "vip")
	settings := settings.NewUsers(client, keyspace.KeysUnder(""))
	require.NoError(t, client.HSet(t.Context(), keys.Settings("alice"), "v", "1", "zone", "Mars/Olympus").Err())
	_, settingsErr := settings.Get(t.Context(), "alice")
	require.ErrorIs(t, settingsErr, policy.ErrUnreadableSettings)
	events := counters.NewEvents(client, keyspace.KeysUnder(""))
	require.NoError(t, client.HSet(t.Context(), keys.Event("submit"), "c", "5 -1", "z", "Mars/Olympus").Err())
	_, _, eventErr := events.Get(t.Context(), "submit")
	for _, err := range []error{policyErr, settingsErr, eventErr} {
		_, away := errors.AsType[*fault.UnavailableError](err)
		require.True(t, away, "%v", err)
		_, invalid := errors.AsType[*fault.InvalidError](err)
		require.False(t, invalid, "%v", err)
	}
}
