package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestAMessageThroughItsStates(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	standing := messages.Info{User: "alice", ID: "a"}
	require.Equal(t, standing, s.Look("a"))

	record := story.RecordOf("g1", "text")
	record.Category, record.ExpiresAt = "news", story.At("20:00")
	s.Ask(sendlimit.Request{ID: "a", At: story.At("11:11:11"), Record: record})
	standing.State, standing.SendAt, standing.ExpiresAt, standing.Category = messages.StatePending, story.At("11:11:11"), story.At("20:00"), "news"
	require.Equal(t, standing, s.Look("a"))

	s.MoveTo("a", "11:30", "g2")
	standing.SendAt, standing.MovedFrom, standing.RequestedAt = story.At("11:30"), story.At("11:11:11"), story.At("11:11:11")
	require.Equal(t, standing, s.Look("a"))

	s.Until("11:30:00.120")
	d := messages.Delivery{User: "alice", ID: "a", Generation: "g2", Nonce: "n1"}
	_, err := s.Gate.Claim(t.Context(), d, time.Minute, time.Time{})
	require.NoError(t, err)
	standing.State, standing.Attempts = messages.StateSending, 1
	require.Equal(t, standing, s.Look("a"))

	_, err = s.Gate.Settle(t.Context(), d, messages.Settlement{
		Outcome: messages.Retried, Retry: messages.Retry{Generation: "g3", At: story.At("11:40")}, Reason: "unavailable",
	}, time.Time{})
	require.NoError(t, err)
	standing.State, standing.NotBefore, standing.Reason = messages.StatePending, story.At("11:40"), "unavailable"
	require.Equal(t, standing, s.Look("a"))

	s.Until("11:40")
	d = messages.Delivery{User: "alice", ID: "a", Generation: "g3", Nonce: "n2"}
	claim, err := s.Gate.Claim(t.Context(), d, time.Minute, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Send, claim.Verdict)
	require.Zero(t, s.Look("a").NotBefore, "while it is being sent there is no next try")
	require.Equal(t, 2, s.Look("a").Attempts)
	s.Wait(time.Second) // while the provider takes its time
	_, err = s.Gate.Settle(t.Context(), d, messages.Settlement{Outcome: messages.Delivered, ProviderID: "p-1", Began: claim.Now}, time.Time{})
	require.NoError(t, err)
	got := s.Look("a")
	require.Equal(t, messages.StateDelivered, got.State)
	require.Equal(t, story.At("11:40"), got.EndedAt)
	require.Equal(t, story.At("11:40"), got.SendAt, "sent late, it stands where it went out")
	require.Equal(t, story.At("11:30"), got.Promised)
	require.Equal(t, 10*time.Minute, got.Lateness)
	require.Equal(t, "p-1", got.ProviderID)
	require.Equal(t, "unavailable", got.Reason, "why the try before failed")
	require.False(t, got.Uncertain)
	require.Equal(t, 2, got.Attempts)
}

func TestAnEarlierDeliveryThatMayHaveArrived(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.deliverAs("a", messages.Settlement{
		Outcome: messages.Retried, Retry: messages.Retry{Generation: "g2", At: story.At("11:00"), Uncertain: true}, Reason: "timeout",
	})
	require.True(t, s.Look("a").Uncertain, "it waits for the next try")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Delivered})
	got := s.Look("a")
	require.Equal(t, []any{messages.StateDelivered, true, "timeout", 2}, []any{got.State, got.Uncertain, got.Reason, got.Attempts})

	s.Submit("b", "11:10", "g1", "text")
	s.Until("11:10")
	s.deliverAs("b", messages.Settlement{Outcome: messages.Delivered})
	require.False(t, s.Look("b").Uncertain)
	s.Submit("c", "11:20", "g1", "text")
	s.Until("11:20")
	s.deliverAs("c", messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout"})
	require.False(t, s.Look("c").Uncertain, "the state says so")
}

func TestInfosOfMessagesThatEndUnsent(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.Submit("cancelled", "11:00", "g1", "text")
	s.Release("cancelled")
	require.Equal(t, messages.Info{
		User: "alice", ID: "cancelled", State: messages.StateCancelled, SendAt: story.At("11:00"), EndedAt: story.At("00:00"),
	}, s.Look("cancelled"))

	record := story.RecordOf("g2", "text")
	record.ExpiresAt = story.At("11:20")
	s.Ask(sendlimit.Request{ID: "expired", At: story.At("11:10"), Record: record})
	s.Until("11:20")
	claim, err := s.Gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "expired", Generation: "g2", Nonce: "n"}, time.Minute, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Dropped, claim.Verdict)
	require.Equal(t, messages.Info{
		User: "alice", ID: "expired", State: messages.StateDropped, SendAt: story.At("11:10"), EndedAt: story.At("11:20"),
		ExpiresAt: story.At("11:20"), Reason: messages.ReasonExpired,
	}, s.Look("expired"))
}

func TestAPostponementSaysWhatWasInTheWay(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]messages.Info{
		"late 1 60000":         {InTheWay: policy.Rule{Limit: 1, Window: time.Minute}},
		"late 10 -3":           {InTheWay: policy.Rule{Limit: 10, Period: calendar.Day}},
		"late 2 5400000":       {InTheWay: policy.Rule{Limit: 2, Window: 90 * time.Minute}},
		"late 10 -6":           {}, // a period of a newer program
		"late 10 300000000":    {InTheWay: policy.Rule{Limit: 10, Window: 300_000 * time.Second}},
		"late x 1000":          {},
		"late 0 1000":          {},
		"late 5":               {},
		"late":                 {},
		"late 2 -3 marketing":  {InTheWay: policy.Rule{Limit: 2, Period: calendar.Day}, InTheWayCategory: "marketing"},
		"late 10 -6 marketing": {},
		"late 2 1000 quiet":    {InTheWay: policy.Rule{Limit: 2, Window: time.Second}, InTheWayCategory: "quiet"},
		"late quiet":           {InQuietHours: true},
		"late disturb":         {DoNotDisturb: true},
	} {
		s := story.NewMessages(t, "1/minute")
		s.Submit("a", "11:11:11", "g1", "text")
		s.Server.HSet(story.KeysOf(s.Options).Record("alice", "a"), "w", reason, "p", ms("11:00"))
		got := s.Look("a")
		require.Equal(t, messages.ReasonLate, got.Reason, reason)
		require.Equal(t, want, messages.Info{
			InTheWay: got.InTheWay, InTheWayCategory: got.InTheWayCategory, InQuietHours: got.InQuietHours, DoNotDisturb: got.DoNotDisturb,
		}, reason)
		require.Equal(t, story.At("11:00"), got.Promised)
	}
}

func TestALookAtMany(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a:1", "11:11:11", "g1", "text")
	s.Submit("b", "12:00", "g2", "text")
	records := story.RecordsIn(t, s.Client, s.Options.Prefix)
	found, err := records.Look(t.Context(), "alice", "b", "none", "a:1", "b")
	require.NoError(t, err)
	var got []string
	for _, f := range found {
		got = append(got, f.ID+" "+f.State.String())
	}
	require.Equal(t, []string{"b pending", "none unknown", "a:1 pending", "b pending"}, got)
	found, err = records.Look(t.Context(), "alice")
	require.NoError(t, err)
	require.Empty(t, found)

	var wrong *fault.InvalidError
	_, err = records.Look(t.Context(), "", "a")
	require.ErrorAs(t, err, &wrong)
	_, err = records.Look(t.Context(), "alice", "a", "")
	require.ErrorAs(t, err, &wrong)
}

func TestRecordsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for field, value := range map[string]string{"s": "z", "t": "noon", "n": "many"} {
		s := story.NewMessages(t, "1/minute")
		s.Submit("a", "11:11:11", "g1", "text")
		s.Server.HSet(story.KeysOf(s.Options).Record("alice", "a"), field, value)
		_, err := story.RecordsIn(t, s.Client, s.Options.Prefix).Look(t.Context(), "alice", "a")
		require.ErrorIs(t, err, fault.ErrReply, field)
	}
}

func TestStatesHaveNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "uncertain", messages.StateUncertain.String())
	require.Equal(t, "state(99)", messages.State(99).String())
}

// Messages that were late for longer than the longest window were not listed
// any more, although they were pending.
func TestListHasWhatIsLate(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	for _, when := range []string{"10:00", "10:10", "10:20", "10:30"} {
		s.Submit("m"+when[3:], when, "g"+when[3:], "text")
	}
	s.Until("10:00")
	s.deliverAs("m00", messages.Settlement{Outcome: messages.Delivered})
	s.Until("10:10")
	_, err := s.Gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "m10", Generation: "g10", Nonce: "n"}, time.Hour, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.StateSending, s.Look("m10").State)
	s.Until("10:31:00")
	s.Holds("m10 10:10:00", "m20 10:20:00", "m30 10:30:00")

	page, err := s.Timeline.List(t.Context(), sendlimit.ListRequest{User: "alice", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []keyspace.Reservation{{ID: "m10", At: story.At("10:10")}}, page)
	page, err = s.Timeline.List(t.Context(), sendlimit.ListRequest{User: "alice", After: page[0], To: story.At("10:30")})
	require.NoError(t, err)
	require.Equal(t, []keyspace.Reservation{{ID: "m20", At: story.At("10:20")}}, page)

	// Places without records are forgotten by their time.
	s.Options.Records = false
	s.Timeline, err = sendlimit.NewTimeline(s.Client, s.Options)
	require.NoError(t, err)
	s.Holds("m30 10:30:00")
}

// Ended entries that are not trimmed yet are skipped, in bounded steps.
func TestListPassesOverWhatIsForgotten(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	places := make([]redis.Z, 2500)
	for i := range places {
		places[i] = redis.Z{Member: fmt.Sprintf("m%04d", i), Score: float64(story.At("01:00").Add(time.Duration(i/10) * time.Second).UnixMilli())}
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), s.Key(), places...).Err())
	for _, id := range []string{"m0000", "m1000", "m2400"} {
		s.Server.HSet(story.KeysOf(s.Options).Record("alice", id), "g", "g1", "t", "1")
	}
	s.Until("11:00")
	s.Holds("m0000 01:00:00", "m1000 01:01:40", "m2400 01:04:00")
	page, err := s.Timeline.List(t.Context(), sendlimit.ListRequest{User: "alice", Limit: 2})
	require.NoError(t, err)
	require.Len(t, page, 2)

	keys := []string{s.Key(), story.KeysOf(s.Options).Uncounted("alice")}
	reply, err := lua.List.Run(t.Context(), s.Client, keys, "", "", "", "", "", 10, 1000,
		story.KeysOf(s.Options).RecordPrefix("alice")).Slice()
	require.NoError(t, err)
	require.Equal(t, []any{s.Now.UnixMilli(), story.At("01:01:39").UnixMilli(), "m0999", "m0000", story.At("01:00").UnixMilli()}, reply,
		"one call looks at a thousand records")
}
