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
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
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
		page, next, err := dead.List(t.Context(), r)
		require.NoError(t, err)
		for _, l := range page {
			all = append(all, fmt.Sprintf("%s %s %s", l.EndedAt.Format("15:04:05.000"), l.ID, l.User))
		}
		if next.User == "" {
			return all
		}
		require.True(t, len(page) == r.Limit || r.Reason != "", "%d of %d", len(page), r.Limit)
		r.After = next
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

// A list may have only those with a reason, of an account or of a campaign. A call looks at so many,
// and the next goes on after them.
func TestDeadLettersAreSelected(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	dead, err := messages.NewDeadLetters(client, sendlimit.Options{})
	require.NoError(t, err)
	keys := story.KeysOf(sendlimit.Options{})
	const many, rare = 10_500, 10_300
	_, err = client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for i := range many {
			id, ended := fmt.Sprintf("m%05d", i), story.At("11:11:11").Add(time.Duration(i)*time.Millisecond).UnixMilli()
			record := map[string]any{"g": "g", "t": 1, "s": "f", "e": ended, "w": "timeout", "C": "spring"}
			if i%rare == 7 {
				record["w"], record["C"], record["y"] = "gone", "autumn", "acme attempt"
			}
			pipe.ZAdd(t.Context(), keys.DeadLettersOf("alice"), redis.Z{Score: float64(ended), Member: keyspace.DeadLetterMember("alice", id)})
			pipe.HSet(t.Context(), keys.Record("alice", id), record)
		}
		return nil
	})
	require.NoError(t, err)
	for name, r := range map[string]messages.DeadLettersRequest{
		"reason": {Reason: "gone"}, "account": {Account: "acme"}, "campaign": {Campaign: "autumn"},
		"all": {Reason: "gone", Account: "acme", Campaign: "autumn", User: "alice"},
	} {
		r.Limit = 100
		page, next, err := dead.List(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, page, 1, name)
		require.Equal(t, "m00007", page[0].ID)
		require.Equal(t, "m09999", next.ID, "so many were looked at")
		r.After = next
		page, next, err = dead.List(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, page, 1, name)
		require.Equal(t, "m10307", page[0].ID)
		require.Empty(t, next.ID, "there are no more")
	}
	page, next, err := dead.List(t.Context(), messages.DeadLettersRequest{Reason: "timeout", Limit: 8})
	require.NoError(t, err)
	require.Len(t, page, 8)
	require.Equal(t, page[7].ID, next.ID, "the page is full")
	page, _, err = dead.List(t.Context(), messages.DeadLettersRequest{Reason: "timeout", Limit: 8, After: next})
	require.NoError(t, err)
	require.Equal(t, "m00009", page[0].ID)
	page, next, err = dead.List(t.Context(), messages.DeadLettersRequest{Reason: "gone", Campaign: "spring", After: messages.DeadLetter{Info: messages.Info{User: "alice", ID: "m10400", EndedAt: story.At("11:11:21.400")}}})
	require.NoError(t, err)
	require.Empty(t, page)
	require.Empty(t, next.ID)
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

// newFailedMessage returns a story of a message of a category that failed at
// 21:30. The policy changes after that.
func newFailedMessage(t *testing.T, category string, later policy.Policy) *deadStory {
	t.Helper()
	o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))}
	s := &deadStory{Messages: story.TellMessages(t, o)}
	submitCategory(s.Messages, category, "a", "21:30")
	s.Until("21:30")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	o.Records, o.Rules = true, story.RulesBy(t, later)
	var err error
	s.dead, err = messages.NewDeadLetters(s.Client, o)
	require.NoError(t, err)
	s.Timeline, err = sendlimit.NewTimeline(s.Client, o)
	require.NoError(t, err)
	return s
}

func TestARetryWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	s := newFailedMessage(t, "", addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))
	s.Until("23:00")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, At: story.At("23 08:00"), RequestedAt: story.At("21:30"), Now: s.Now},
		s.retry("a", "g2"))
}

func TestARetryForABlockedUser(t *testing.T) {
	t.Parallel()
	s := newFailedMessage(t, "", story.PolicyOf(t, "1/minute"))
	settings := settings.NewUsers(s.Client, keyspace.KeysUnder(""))
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Blocked: true}))
	before := s.Server.Dump()
	for range 2 { // with settings not yet known, and known
		require.Equal(t, sendlimit.Decision{Code: fault.CodeBlocked, Now: s.Now}, s.retry("a", "g2"))
	}
	require.Equal(t, before, s.Server.Dump())
	s.requireListed("a 21:30:00")
	err := settings.Clear(t.Context(), "alice")
	require.NoError(t, err)
	require.True(t, s.retry("a", "g2").Allowed)
}

// The reach of a policy limits a retry: a retry is a new promise.
func TestARetryStaysWithinThePolicysReach(t *testing.T) {
	t.Parallel()
	p := addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00")
	p.Reach = time.Hour
	s := newFailedMessage(t, "", p)
	s.Until("22:30")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeSendLimit, Now: s.Now}, s.retry("a", "g2"))
	s.Until("23 07:30")
	require.Equal(t, story.At("23 08:00"), s.retry("a", "g2").At)
}

// A message that may have been sent counts for the rules of its category, even
// after a purge.
func TestAPurgedUncertainMessageCountsForItsCategory(t *testing.T) {
	t.Parallel()
	o := sendlimit.Options{Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "1/minute"), "marketing", "2/calendar_day"))}
	s := &deadStory{Messages: story.TellMessages(t, o)}
	var err error
	s.dead, err = messages.NewDeadLetters(s.Client, s.Options)
	require.NoError(t, err)
	for id, when := range map[string]string{"a": "11:00", "b": "11:10"} {
		submitCategory(s.Messages, "marketing", id, when)
	}
	for _, id := range []string{"a", "b"} {
		s.Until(map[string]string{"a": "11:00", "b": "11:10"}[id])
		s.deliverAs(id, messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout"})
	}
	refused := func() {
		d := s.Ask(sendlimit.Request{ID: "c", At: story.At("15:00"), Record: story.Categorized("g-c", "marketing")})
		require.Equal(t, fault.CodeSendLimit, d.Code)
		require.Equal(t, "marketing", d.Violations[0].Category)
	}
	refused()
	kept := s.KeptFor("a")
	for _, id := range []string{"a", "b"} {
		purged, err := s.dead.Purge(t.Context(), "alice", id)
		require.NoError(t, err)
		require.True(t, purged)
	}
	refused()
	s.requireListed()
	require.Equal(t, kept, s.KeptFor("a"))
	require.Equal(t, messages.Info{User: "alice", ID: "a"}, s.Look("a"))
	require.Equal(t, fault.CodeNotFound, s.Release("a").Code)
	require.Equal(t, fault.CodeNotFound, s.retry("a", "g2").Code)
	require.Equal(t, fault.CodeNotFound, s.MoveTo("a", "16:00", "g2").Code)
	keys := story.KeysOf(s.Options)
	require.Len(t, s.Client.ZRange(t.Context(), keys.Timeline("alice"), 0, -1).Val(), 2)

	submitCategory(s.Messages, "news", "a", "23 11:00") // its id is free
	require.Equal(t, "news", s.Look("a").Category)
	require.Len(t, s.Client.ZRange(t.Context(), keys.Category("alice", "marketing"), 0, -1).Val(), 2, "both may have been sent")
	refused()
	require.Equal(t, []string{"a"}, s.Client.ZRange(t.Context(), keys.Category("alice", "news"), 0, -1).Val())
	timeline, err := sendlimit.NewTimeline(s.Client, s.Options)
	require.NoError(t, err)
	_, err = timeline.RecordSent(t.Context(), sendlimit.SentRequest{
		User: "alice", ID: "b", At: story.At("11:12"), Record: story.Categorized("g-d", "news"), Now: story.At("11:12"),
	})
	require.NoError(t, err)
	refused()
	require.Equal(t, []string{"b", "a"}, s.Client.ZRange(t.Context(), keys.Category("alice", "news"), 0, -1).Val())
	require.Zero(t, s.KeptFor("a"), "with a record of its own")
}
