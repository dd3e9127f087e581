package messages_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// listEnded lists messages without a place, as "id state time".
func listEnded(s *story.Messages, r sendlimit.ListRequest) []string {
	s.Helper()
	r.User = "alice"
	found, err := story.RecordsIn(s, s.Client, s.Options.Prefix).Ended(s.Context(), r)
	require.NoError(s, err)
	var list []string
	for _, f := range found {
		list = append(list, fmt.Sprintf("%s %s %s", f.ID, f.State, f.SendAt.Format("15:04")))
	}
	return list
}

func endedKey(s *story.Messages) string { return story.KeysOf(s.Options).Ended("alice") }

func TestWhatEndedWithoutAPlaceIsListed(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute", "9/hour")
	require.Empty(t, listEnded(s.Messages, sendlimit.ListRequest{}))
	s.Submit("cancelled", "13:00", "g1", "text")
	s.Release("cancelled")
	s.Release("cancelled")
	s.fail("failed", "11:00")
	expiring := story.RecordOf("g2", "text")
	expiring.ExpiresAt = story.At("11:20")
	s.Ask(sendlimit.Request{ID: "dropped", At: story.At("11:10"), Record: expiring})
	s.Submit("delivered", "11:15", "g3", "text")
	s.Until("11:15")
	s.deliverAs("delivered", messages.Settlement{Outcome: messages.Delivered})
	s.Submit("uncertain", "11:18", "g4", "text")
	s.Until("11:18")
	s.deliverAs("uncertain", messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout"})
	s.Until("11:20")
	claim, err := s.Gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "dropped", Generation: "g2", Nonce: "n"}, time.Minute, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Dropped, claim.Verdict)

	require.Equal(t, []string{"failed failed 11:00", "dropped dropped 11:10", "cancelled cancelled 13:00"}, listEnded(s.Messages, sendlimit.ListRequest{}))
	require.Equal(t, []string{"dropped dropped 11:10"}, listEnded(s.Messages, sendlimit.ListRequest{From: story.At("11:00:00.001"), To: story.At("13:00")}))
	s.Holds("delivered 11:15:00", "uncertain 11:18:00")
}

// Messages that the claim of another late message drops are listed too.
func TestWhatAnotherMessageDroppedIsListed(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	expiring := story.RecordOf("g1", "text")
	expiring.ExpiresAt = story.At("11:05")
	s.Ask(sendlimit.Request{ID: "a:b", At: story.At("11:00"), Record: expiring})
	s.Submit("late", "11:01", "g2", "text")
	s.Until("11:10")
	_, err := s.Gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "late", Generation: "g2", Nonce: "n"}, time.Minute, time.Time{})
	require.NoError(t, err)
	require.Equal(t, []string{"a:b dropped 11:00"}, listEnded(s, sendlimit.ListRequest{}))
}

// A message with a place is only in the timeline's list.
func TestWhatCameBackIsNotListedAsEnded(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.fail("retried", "11:00")
	s.retry("retried", "g-retried")
	s.Submit("anew", "12:00", "g1", "text")
	s.Release("anew")
	s.Submit("anew", "12:30", "g2", "other text")
	require.Empty(t, listEnded(s.Messages, sendlimit.ListRequest{}))

	// Its entry has the time of the last end.
	s.Release("anew")
	require.Equal(t, []string{"anew cancelled 12:30"}, listEnded(s.Messages, sendlimit.ListRequest{}))
	// It ended again after the list was read and before the record was.
	s.Server.HSet(story.KeysOf(s.Options).Record("alice", "anew"), "t", ms("13:00"))
	require.Empty(t, listEnded(s.Messages, sendlimit.ListRequest{}))
}

func TestTheListOfWhatEndedGoesWithTheRecords(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Release("a")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.Server.TTL(endedKey(s)))
	s.Wait(sendlimit.DefaultKeepRecords - time.Hour)
	s.Ask(sendlimit.Request{ID: "b", At: s.Now.Add(time.Hour), Record: story.RecordOf("g2", "text")})
	s.Release("b")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.Server.TTL(endedKey(s)), "for as long as the last record")
	s.Wait(2 * time.Hour)
	require.Len(t, listEnded(s, sendlimit.ListRequest{}), 1, "the record of a is gone")
	members, err := s.Server.ZMembers(endedKey(s))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, members)

	s.Ask(sendlimit.Request{ID: "c", At: s.Now.Add(time.Hour), Record: story.RecordOf("g3", "text")})
	s.Release("c")
	members, err = s.Server.ZMembers(endedKey(s))
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, members, "the next one to end removes what is over")
	s.Wait(sendlimit.DefaultKeepRecords)
	require.False(t, s.Server.Exists(endedKey(s)))
}

// Pages may end anywhere: within a millisecond, and among stale entries.
func TestPagesOfWhatEnded(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	keys := story.KeysOf(s.Options)
	var want []string
	var entries []redis.Z
	for i := range 200 {
		when := story.At("11:00").Add(time.Duration(i/9) * time.Minute)
		id := fmt.Sprintf("m%03d", i)
		entries = append(entries, redis.Z{Member: id, Score: float64(when.UnixMilli())})
		if i%3 == 0 || i > 60 && i < 120 {
			continue // its record is gone
		}
		s.Server.HSet(keys.Record("alice", id), "g", "g", "s", "c", "t", strconv.FormatInt(when.UnixMilli(), 10))
		want = append(want, id+" cancelled "+when.Format("15:04"))
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), endedKey(s), entries...).Err())
	for _, limit := range []int{1, 2, 7, 9, 50, 200, sendlimit.MaxList} {
		var got []string
		r := sendlimit.ListRequest{User: "alice", Limit: limit}
		for {
			page, err := story.RecordsIn(t, s.Client, s.Options.Prefix).Ended(t.Context(), r)
			require.NoError(t, err)
			for _, f := range page {
				got = append(got, fmt.Sprintf("%s %s %s", f.ID, f.State, f.SendAt.Format("15:04")))
			}
			if len(page) < limit {
				break
			}
			r.After = keyspace.Reservation{ID: page[limit-1].ID, At: page[limit-1].SendAt}
		}
		require.Equal(t, want, got, "limit %d", limit)
	}
	require.True(t, slices.IsSorted(want))
}

func TestBadRequestsForWhatEnded(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	records := story.RecordsIn(t, s.Client, s.Options.Prefix)
	_, err := records.Ended(t.Context(), sendlimit.ListRequest{User: ""})
	require.ErrorContains(t, err, `user "" is not allowed`)
	_, err = records.Ended(t.Context(), sendlimit.ListRequest{User: "alice", Limit: -1})
	require.ErrorContains(t, err, `limit "-1" is not allowed`)
	_, err = records.Ended(t.Context(), sendlimit.ListRequest{User: "alice", From: story.At("11:00"), To: story.At("11:00")})
	require.ErrorContains(t, err, "until must be after from")
	s.Server.Close()
	_, err = records.Ended(t.Context(), sendlimit.ListRequest{User: "alice"})
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
}
