package messages_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// deadStory is a story of alice's dead letters.
type deadStory struct {
	*story.Messages

	dead *messages.DeadLetters
}

func newDeadStory(t *testing.T, rules ...string) *deadStory {
	t.Helper()
	s := &deadStory{Messages: story.NewMessages(t, rules...)}
	var err error
	s.dead, err = messages.NewDeadLetters(s.Client, s.Options)
	require.NoError(t, err)
	return s
}

// deliverAs claims a due message of alice and settles it.
func (s *deadStory) deliverAs(id string, settlement messages.Settlement) {
	s.Helper()
	d := messages.Delivery{User: "alice", ID: id, Generation: s.Field(id, "g"), Nonce: keyspace.NewToken()}
	claim, err := s.Gate.Claim(s.Context(), d, time.Minute, time.Time{})
	require.NoError(s, err)
	require.Equal(s, messages.Send, claim.Verdict)
	settled, err := s.Gate.Settle(s.Context(), d, settlement, time.Time{})
	require.NoError(s, err)
	require.True(s, settled)
}

// fail submits a message for a free time and settles it as failed.
func (s *deadStory) fail(id, when string) {
	s.Helper()
	require.True(s, s.Submit(id, when, "first-"+id, "text of "+id).Allowed)
	s.Until(when)
	s.deliverAs(id, messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
}

func (s *deadStory) retry(id, generation string) sendlimit.Decision {
	s.Helper()
	d, err := s.dead.Retry(s.Context(), messages.RetryRequest{User: "alice", ID: id, Generation: generation})
	require.NoError(s, err)
	return d
}

// requireListed requires exactly these dead letters, as "id time".
func (s *deadStory) requireListed(wanted ...string) {
	s.Helper()
	letters, _, err := s.dead.List(s.Context(), messages.DeadLettersRequest{})
	require.NoError(s, err)
	found := []string{}
	for _, l := range letters {
		found = append(found, l.ID+" "+l.EndedAt.Format("15:04:05.999"))
	}
	require.Equal(s, append([]string{}, wanted...), found)
}

func (s *deadStory) requireCount(wanted int) {
	s.Helper()
	count, err := s.dead.Count(s.Context())
	require.NoError(s, err)
	require.Equal(s, wanted, count)
}

func TestADeadLetterIsShown(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.requireCount(0)
	s.requireListed()
	s.fail("a", "11:11:11")
	s.requireCount(1)
	want := messages.Info{
		User: "alice", ID: "a", State: messages.StateFailed, SendAt: story.At("11:11:11"), EndedAt: story.At("11:11:11"),
		Attempts: 1, Reason: "gone",
	}
	letters, _, err := s.dead.List(t.Context(), messages.DeadLettersRequest{})
	require.NoError(t, err)
	require.Equal(t, []messages.DeadLetter{{Info: want}}, letters)
	letter, ok, err := s.dead.Get(t.Context(), "alice", "a")
	require.NoError(t, err)
	require.True(t, ok)
	want.History = []messages.Change{
		{At: story.At("00:00"), What: messages.ChangeAccepted, SendAt: story.At("11:11:11")},
		{At: story.At("11:11:11"), What: messages.ChangeFailed, Attempt: 1, Reason: "gone"},
	}
	require.Equal(t, messages.DeadLetter{Info: want, Content: []byte("text of a")}, letter)

	s.Submit("b", "12:00", "g1", "text")
	for _, id := range []string{"b", "none"} {
		_, ok, err = s.dead.Get(t.Context(), "alice", id)
		require.NoError(t, err)
		require.False(t, ok, id)
	}
}

func ms(when string) string { return strconv.FormatInt(story.At(when).UnixMilli(), 10) }

func TestRetriesThatAreRefusedChangeNothing(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	record := story.RecordOf("g1", "text")
	record.ExpiresAt = story.At("11:20")
	require.True(t, s.Ask(sendlimit.Request{ID: "a", At: story.At("11:11:11"), Record: record}).Allowed)
	s.Until("11:11:11")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	for minute := 15; minute < 25; minute++ {
		require.True(t, s.Submit(strconv.Itoa(minute), fmt.Sprintf("11:%d", minute), fmt.Sprintf("m%d", minute), "text").Allowed)
	}
	refused := func(code fault.Code) {
		t.Helper()
		dump := s.Server.Dump()
		require.Equal(t, sendlimit.Decision{Code: code, ExpiresAt: story.At("11:20"), Now: s.Now}, s.retry("a", "g2"))
		require.Equal(t, dump, s.Server.Dump())
	}
	s.Until("11:14:00.001")
	refused(fault.CodeSendLimit)
	s.Until("11:19:59.999")
	refused(fault.CodeSendLimit)
	s.Until("11:20")
	refused(fault.CodeExpired)

	s.Release("20")
	s.Release("21")
	d, err := s.dead.Retry(t.Context(), messages.RetryRequest{User: "alice", ID: "a", Generation: "g2", Now: story.At("11:19:30")})
	require.NoError(t, err)
	require.Equal(t, fault.CodeSendLimit, d.Code, "11:20 is the next free time, and too late")
	d, err = s.dead.Retry(t.Context(), messages.RetryRequest{User: "alice", ID: "a", Generation: "g2", Now: story.At("11:14")})
	require.NoError(t, err)
	require.Equal(t, story.At("11:14"), d.At, "a millisecond earlier there was a time")
}

// The id of a failed message may be used again. A retry of the dead letter must
// not overwrite the new message.
func TestAResubmitReplacesTheDeadLetter(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.fail("a", "11:11:11")
	require.True(t, s.Submit("a", "12:00", "g2", "newer").Allowed)
	s.requireCount(1)
	record := s.Server.Dump()

	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.Now}, s.retry("a", "g3"))
	require.Equal(t, record, s.Server.Dump())
	_, ok, err := s.dead.Get(t.Context(), "alice", "a")
	require.NoError(t, err)
	require.False(t, ok)
	s.requireListed()
	s.requireCount(0)
	s.Holds("a 12:00:00")
	require.Equal(t, "newer", s.Field("a", "c"))

	// The new message may fail as well, while a stale entry exists.
	s.Until("12:00")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	require.True(t, s.Submit("a", "13:00", "g4", "newest").Allowed)
	s.Until("13:00")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Failed, Reason: "rejected"})
	s.requireCount(1)
	s.requireListed("a 13:00:00")
	purged, err := s.dead.Purge(t.Context(), "alice", "a")
	require.NoError(t, err)
	require.True(t, purged)
}

// A record that is lost, for example expired, leaves an entry.
func TestAnEntryWithoutARecordIsRemoved(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.fail("a", "11:11:11")
	s.fail("b", "11:13")
	s.Server.Del(story.KeysOf(s.Options).Record("alice", "a"))
	s.Server.HSet(story.KeysOf(s.Options).Record("alice", "b"), "e", ms("11:14"))
	require.Equal(t, fault.CodeNotFound, s.retry("b", "g2").Code, "it is not the one that ended then")
	s.requireListed()
	s.requireCount(0)
}

// The list goes with the last of the records: nothing counts that can't be shown.
func TestDeadLettersExpire(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.fail("a", "11:11:11")
	s.Wait(s.KeptFor("a") - time.Second)
	s.requireCount(1)
	s.Wait(time.Second)
	s.requireCount(0)
	require.False(t, s.Server.Exists(story.KeysOf(s.Options).DeadLetters(keyspace.Partition("alice"))))
}

func TestPurge(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.fail("a", "11:11:11")
	s.Submit("b", "12:00", "g1", "text")
	purge := func(id string) bool {
		purged, err := s.dead.Purge(t.Context(), "alice", id)
		require.NoError(t, err)
		return purged
	}
	require.False(t, purge("b"), "it is no dead letter")
	require.Equal(t, "text", s.Field("b", "c"))
	require.True(t, purge("a"))
	require.Negative(t, s.KeptFor("a"))
	require.False(t, purge("a"))
	s.requireCount(0)
	require.NotContains(t, s.Server.Dump(), "text of a")
	require.True(t, s.Submit("a", "12:30", "g2", "another").Allowed, "the id is free")
}

func TestAPurgedUncertainMessageKeepsItsPlace(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	s.Until("11:11:11")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout"})
	purged, err := s.dead.Purge(t.Context(), "alice", "a")
	require.NoError(t, err)
	require.True(t, purged)
	s.Holds("a 11:11:11")
	require.False(t, s.Submit("b", "11:12", "g2", "text").Allowed, "it may have been sent")
}

func TestPurgeBefore(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	for minute := 10; minute < 15; minute++ {
		s.fail(fmt.Sprintf("m%d", minute), fmt.Sprintf("11:%d", minute))
	}
	purge := func(before string, limit, purged int, more bool) {
		t.Helper()
		n, again, err := s.dead.PurgeBefore(t.Context(), story.At(before), limit)
		require.NoError(t, err)
		require.Equal(t, purged, n)
		require.Equal(t, more, again)
	}
	purge("11:10", 10, 0, false)
	purge("11:13", 2, 2, true)
	s.requireListed("m12 11:12:00", "m13 11:13:00", "m14 11:14:00")
	purge("11:13", 2, 1, false)
	s.requireListed("m13 11:13:00", "m14 11:14:00")
	purge("", 0, 2, false)
	s.requireListed()
}

// A message that was retried and failed again has ended later than the time of
// the purge.
func TestPurgeSparesWhatEndedLater(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.fail("a", "11:11:11")
	all := story.KeysOf(s.Options)
	keys := []string{all.Record("alice", "a"), all.DeadLettersOf("alice")}
	for _, row := range []struct {
		before    string
		forgotten int64
	}{{"11:11:11", 0}, {"11:11:11.001", 1}} {
		reply, err := lua.Purge.Run(t.Context(), s.Client, keys, keyspace.DeadLetterMember("alice", "a"), ms(row.before),
			keyspace.WatchWord("alice", "a")).Slice()
		require.NoError(t, err)
		require.Equal(t, []any{row.forgotten}, reply)
	}
	s.requireCount(0)
}

func TestDeadLettersOfBadArguments(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	ctx := t.Context()
	long := strings.Repeat("x", 300)
	retry := func(r messages.RetryRequest) error {
		_, err := s.dead.Retry(ctx, r)
		return err
	}
	list := func(r messages.DeadLettersRequest) error {
		_, _, err := s.dead.List(ctx, r)
		return err
	}
	get := func(user, id string) error {
		_, _, err := s.dead.Get(ctx, user, id)
		return err
	}
	purge := func(user, id string) error {
		_, err := s.dead.Purge(ctx, user, id)
		return err
	}
	_, _, purgeBefore := s.dead.PurgeBefore(ctx, time.Time{}, -1)
	_, opening := messages.NewDeadLetters(s.Client, sendlimit.Options{Prefix: "A"})
	for _, row := range []struct {
		err   error
		field string
	}{
		{retry(messages.RetryRequest{ID: "a", Generation: "g"}), "user"},
		{retry(messages.RetryRequest{User: "alice", ID: "a/b", Generation: "g"}), "id"},
		{retry(messages.RetryRequest{User: "alice", ID: "a"}), "generation"},
		{list(messages.DeadLettersRequest{User: long}), "user"},
		{list(messages.DeadLettersRequest{Limit: 1001}), "limit"},
		{get("", "a"), "user"},
		{get("alice", long), "id"},
		{purge("", "a"), "user"},
		{purge("alice", ""), "id"},
		{purgeBefore, "limit"},
		{opening, "prefix"},
	} {
		var wrong *fault.InvalidError
		require.ErrorAs(t, row.err, &wrong)
		require.Equal(t, row.field, wrong.Field)
	}
}

// The watch list packs UUIDs, the dead letters don't.
func TestADeadLetterOfUUIDs(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	const user, id = "7c9e6679-7425-40de-944b-e07fc1f90ae7", "0f8fad5b-d9cb-469f-a165-70867728950e"
	d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
		User: user, ID: id, At: s.Now.Add(time.Minute), Record: story.RecordOf("g", "text"),
	})
	require.NoError(t, err)
	require.True(t, d.Allowed)
	s.Wait(time.Minute)
	delivery := messages.Delivery{User: user, ID: id, Generation: "g", Nonce: "n"}
	_, err = s.Gate.Claim(t.Context(), delivery, story.Lease, time.Time{})
	require.NoError(t, err)
	settled, err := s.Gate.Settle(t.Context(), delivery, messages.Settlement{Outcome: messages.Failed, Reason: "rejected"}, time.Time{})
	require.NoError(t, err)
	require.True(t, settled)
	members, err := s.Server.ZMembers(story.KeysOf(s.Options).DeadLettersOf(user))
	require.NoError(t, err)
	require.Equal(t, []string{id + "/" + user}, members)
	require.Empty(t, story.WatchedOf(t, s.Client, story.KeysOf(s.Options), user))
}
