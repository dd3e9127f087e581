package messages_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// addDeadLetters adds dead letters of many users at random times, several in
// one millisecond, and stale entries between them. It returns the dead letters
// in order, as "time id user".
func addDeadLetters(t *testing.T, client *redis.Client, seed uint64, letters int) []string {
	t.Helper()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	keys := story.KeysOf(sendlimit.Options{})
	var buried []string
	_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for i := range letters {
			// The first user has as many as all others together.
			user := fmt.Sprintf("user %d", max(0, random.IntN(200)-100))
			id := fmt.Sprintf("m:%d", i)
			ended := story.At("11:11:11").Add(time.Duration(random.IntN(letters/20)) * time.Millisecond)
			pipe.ZAdd(t.Context(), keys.DeadLettersOf(user), redis.Z{
				Score: float64(ended.UnixMilli()), Member: keyspace.DeadLetterMember(user, id),
			})
			record := map[string]any{"g": "g", "t": 1, "s": "f", "e": ended.UnixMilli()}
			switch random.IntN(5) {
			case 0:
				delete(record, "s") // submitted anew
			case 1:
				record["s"] = "u"
				fallthrough
			default:
				buried = append(buried, fmt.Sprintf("%s %s %s", ended.Format("15:04:05.000"), id, user))
			}
			pipe.HSet(t.Context(), keys.Record(user, id), record)
		}
		pipe.ZAdd(t.Context(), keys.DeadLetters(7), redis.Z{Score: 1, Member: "not one of ours"})
		return nil
	})
	require.NoError(t, err)
	slices.SortFunc(buried, func(a, b string) int {
		// By time, then by member: "id/user".
		return strings.Compare(a, b)
	})
	return buried
}

// listAll reads all pages of a list.
func listAll(t *testing.T, dead *messages.DeadLetters, r messages.DeadLettersRequest) []string {
	t.Helper()
	var all []string
	for {
		page, err := dead.List(t.Context(), r)
		require.NoError(t, err)
		for _, l := range page {
			all = append(all, fmt.Sprintf("%s %s %s", l.EndedAt.Format("15:04:05.000"), l.ID, l.User))
		}
		if len(page) < r.Limit {
			return all
		}
		require.Len(t, page, r.Limit)
		r.After = page[len(page)-1]
	}
}

func TestDeadLettersAreListedInOrder(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	dead, err := messages.NewDeadLetters(client, sendlimit.Options{})
	require.NoError(t, err)
	buried := addDeadLetters(t, client, rand.Uint64(), 3000)
	before, err := dead.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3001, before)

	require.Equal(t, buried, listAll(t, dead, messages.DeadLettersRequest{Limit: 700}))
	after, err := dead.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(buried)+1, after, "what is no dead letter any more is removed, what is not ours stays")

	require.Equal(t, buried, listAll(t, dead, messages.DeadLettersRequest{Limit: 1000}))
	require.Equal(t, buried[:30], listAll(t, dead, messages.DeadLettersRequest{Limit: 30})[:30])

	until := story.At("11:11:11.070")
	var early, ofOne []string
	for _, l := range buried {
		if strings.HasSuffix(l, " user 0") {
			ofOne = append(ofOne, l)
		}
		if l < "11:11:11.070" {
			early = append(early, l)
		}
	}
	require.Equal(t, early, listAll(t, dead, messages.DeadLettersRequest{Before: until, Limit: 100}))
	require.Equal(t, ofOne, listAll(t, dead, messages.DeadLettersRequest{User: "user 0", Limit: 100}))
	require.Empty(t, listAll(t, dead, messages.DeadLettersRequest{User: "nobody", Limit: 100}))
}

// More in one millisecond than one page has.
func TestManyDeadLettersOfOneMoment(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	dead, err := messages.NewDeadLetters(client, sendlimit.Options{})
	require.NoError(t, err)
	keys := story.KeysOf(sendlimit.Options{})
	var want []string
	_, err = client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for i := range 2500 {
			id := fmt.Sprintf("m%04d", i)
			want = append(want, id)
			pipe.ZAdd(t.Context(), keys.DeadLettersOf("alice"), redis.Z{
				Score: float64(story.At("11:11:11").UnixMilli()), Member: keyspace.DeadLetterMember("alice", id),
			})
			pipe.HSet(t.Context(), keys.Record("alice", id), "g", "g", "t", 1, "s", "f", "e", story.At("11:11:11").UnixMilli())
		}
		return nil
	})
	require.NoError(t, err)
	var got []string
	for _, l := range listAll(t, dead, messages.DeadLettersRequest{Limit: 1000}) {
		got = append(got, strings.Fields(l)[1])
	}
	require.Equal(t, want, got)
}

// The search takes several calls.
func TestRetryBehindManyReservations(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.fail("a", "11:11:11")
	const taken = 40_000
	places := make([]redis.Z, taken)
	for i := range places {
		places[i] = redis.Z{Member: strconv.Itoa(i), Score: float64(s.Now.Add(time.Duration(i) * time.Minute).UnixMilli())}
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), s.Key(), places...).Err())
	require.Equal(t, s.Now.Add(taken*time.Minute), s.retry("a", "g2").At)
}

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
