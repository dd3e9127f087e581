package sendlimit_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// ended lists what has no place, "id state time" each.
func (s *messageStory) ended(r sendlimit.ListRequest) []string {
	s.Helper()
	r.User = "alice"
	found, err := messages.RecordsOf(s.timeline, s.client).Ended(s.Context(), r)
	require.NoError(s, err)
	var list []string
	for _, f := range found {
		list = append(list, fmt.Sprintf("%s %s %s", f.ID, f.State, f.SendAt.Format("15:04")))
	}
	return list
}

func (s *messageStory) endedKey() string { return keysOf(s.options).Ended("alice") }

func TestWhatEndedWithoutAPlaceIsListed(t *testing.T) {
	t.Parallel()
	s := newGraveyard(t, "1/minute", "9/hour")
	require.Empty(t, s.ended(sendlimit.ListRequest{}))
	s.submit("cancelled", "13:00", "g1", "text")
	s.release("cancelled")
	s.release("cancelled")
	s.fails("failed", "11:00")
	expiring := recordOf("g2", "text")
	expiring.ExpiresAt = at("11:20")
	s.ask(sendlimit.Request{ID: "dropped", At: at("11:10"), Record: expiring})
	s.submit("delivered", "11:15", "g3", "text")
	s.until("11:15")
	s.delivery("delivered", messages.Settlement{Delivered: true})
	s.submit("uncertain", "11:18", "g4", "text")
	s.until("11:18")
	s.delivery("uncertain", messages.Settlement{Uncertain: true, Reason: "timeout"})
	s.until("11:20")
	claim, err := s.gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "dropped", Generation: "g2", Nonce: "n"}, time.Minute, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Dropped, claim.Verdict)

	require.Equal(t, []string{"failed failed 11:00", "dropped dropped 11:10", "cancelled cancelled 13:00"}, s.ended(sendlimit.ListRequest{}))
	require.Equal(t, []string{"dropped dropped 11:10"}, s.ended(sendlimit.ListRequest{From: at("11:00:00.001"), To: at("13:00")}))
	s.holds("delivered 11:15:00", "uncertain 11:18:00")
}

// Others of the user that a late one finds expired are listed, too.
func TestWhatAnotherMessageDroppedIsListed(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	expiring := recordOf("g1", "text")
	expiring.ExpiresAt = at("11:05")
	s.ask(sendlimit.Request{ID: "a:b", At: at("11:00"), Record: expiring})
	s.submit("late", "11:01", "g2", "text")
	s.until("11:10")
	_, err := s.gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "late", Generation: "g2", Nonce: "n"}, time.Minute, time.Time{})
	require.NoError(t, err)
	require.Equal(t, []string{"a:b dropped 11:00"}, s.ended(sendlimit.ListRequest{}))
}

// A message that has a place is in the timeline's list, and in no other.
func TestWhatCameBackIsNotListedAsEnded(t *testing.T) {
	t.Parallel()
	s := newGraveyard(t, "1/minute")
	s.fails("retried", "11:00")
	s.retry("retried", "g-retried")
	s.submit("anew", "12:00", "g1", "text")
	s.release("anew")
	s.submit("anew", "12:30", "g2", "other text")
	require.Empty(t, s.ended(sendlimit.ListRequest{}))

	// Its entry is of the last end.
	s.release("anew")
	require.Equal(t, []string{"anew cancelled 12:30"}, s.ended(sendlimit.ListRequest{}))
	// An older program ends it without a word to the list.
	s.server.HSet(keysOf(s.options).Record("alice", "anew"), "t", ms("13:00"))
	require.Empty(t, s.ended(sendlimit.ListRequest{}))
}

func TestTheListOfWhatEndedGoesWithTheRecords(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.release("a")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.server.TTL(s.endedKey()))
	s.wait(sendlimit.DefaultKeepRecords - time.Hour)
	s.ask(sendlimit.Request{ID: "b", At: s.now.Add(time.Hour), Record: recordOf("g2", "text")})
	s.release("b")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.server.TTL(s.endedKey()), "for as long as the last record")
	s.wait(2 * time.Hour)
	require.Len(t, s.ended(sendlimit.ListRequest{}), 1, "the record of a is gone")
	members, err := s.server.ZMembers(s.endedKey())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, members)

	s.ask(sendlimit.Request{ID: "c", At: s.now.Add(time.Hour), Record: recordOf("g3", "text")})
	s.release("c")
	members, err = s.server.ZMembers(s.endedKey())
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, members, "the next one to end removes what is over")
	s.wait(sendlimit.DefaultKeepRecords)
	require.False(t, s.server.Exists(s.endedKey()))
}

// Pages end anywhere: among entries of one millisecond, and of what is over.
func TestPagesOfWhatEnded(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	keys := keysOf(s.options)
	var want []string
	var entries []redis.Z
	for i := range 200 {
		when := at("11:00").Add(time.Duration(i/9) * time.Minute)
		id := fmt.Sprintf("m%03d", i)
		entries = append(entries, redis.Z{Member: id, Score: float64(when.UnixMilli())})
		if i%3 == 0 || i > 60 && i < 120 {
			continue // its record is gone
		}
		s.server.HSet(keys.Record("alice", id), "g", "g", "s", "c", "t", strconv.FormatInt(when.UnixMilli(), 10))
		want = append(want, id+" cancelled "+when.Format("15:04"))
	}
	require.NoError(t, s.client.ZAdd(t.Context(), s.endedKey(), entries...).Err())
	for _, limit := range []int{1, 2, 7, 9, 50, 200, sendlimit.MaxList} {
		var got []string
		r := sendlimit.ListRequest{User: "alice", Limit: limit}
		for {
			page, err := messages.RecordsOf(s.timeline, s.client).Ended(t.Context(), r)
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
	s := newMessages(t, "1/minute")
	records := messages.RecordsOf(s.timeline, s.client)
	_, err := records.Ended(t.Context(), sendlimit.ListRequest{User: ""})
	require.ErrorContains(t, err, `user "" is not allowed`)
	_, err = records.Ended(t.Context(), sendlimit.ListRequest{User: "alice", Limit: -1})
	require.ErrorContains(t, err, `limit "-1" is not allowed`)
	_, err = records.Ended(t.Context(), sendlimit.ListRequest{User: "alice", From: at("11:00"), To: at("11:00")})
	require.ErrorContains(t, err, "a time after from")
	s.server.Close()
	_, err = records.Ended(t.Context(), sendlimit.ListRequest{User: "alice"})
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
}
