package sendlimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func recordSent(s *story.Alice, r sendlimit.SentRequest) sendlimit.Recorded {
	s.Helper()
	r.User = "alice"
	recorded, err := s.Timeline.RecordSent(s.Context(), r)
	require.NoError(s, err)
	return recorded
}

func recordSentMessage(s *story.Messages, id, when, generation, content string) sendlimit.Recorded {
	s.Helper()
	return recordSent(s.Alice, sendlimit.SentRequest{ID: id, At: story.At(when), Record: story.RecordOf(generation, content)})
}

// Ten recorded sends of the morning count: the eleventh of the day is refused,
// and so is one within an hour of the last five.
func TestRecordedSendsCount(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute", "5/hour", "10/calendar_day")
	s.Until("12:00")
	for i, when := range []string{
		"11:55", "11:55", "11:55", // nothing is judged
		"11:40", "11:30", "10:00", "09:00", "08:00", "07:00", "06:00",
	} {
		d := recordSentMessage(s, strconv.Itoa(i), when, "g", "text")
		require.Equal(t, sendlimit.Recorded{At: story.At(when), Now: s.Now}, d)
	}
	d := s.Submit("eleventh", "12:20", "g", "text")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, []string{"5/hour", "10/calendar_day"}, story.Broken(d))
	require.Equal(t, story.At("23 00:00"), d.NextFree)
	require.True(t, s.Submit("eleventh", "23 00:00", "g", "text").Allowed, "the next free time is free")

	s.Under("1/minute", "5/hour")
	require.Equal(t, story.At("12:30"), s.Submit("sixth", "12:20", "g", "text").NextFree)
}

// A recorded send has ended: it has no watch entry and no content, and no task
// delivers it.
func TestARecordedSendIsOver(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Until("12:00")
	r := story.RecordOf("g1", "text")
	r.Category, r.ExpiresAt = "news", story.At("13:00")
	recordSent(s.Alice, sendlimit.SentRequest{ID: "a", At: story.At("11:59:00.123"), Record: r})
	s.Watched()
	fields := map[string]string{}
	for _, name := range []string{"g", "s", "t", "f", "e", "k", "c", "x"} {
		fields[name] = s.Field("a", name)
	}
	ms := "1795348740123"
	require.Equal(t, map[string]string{
		"g": "g1", "s": "d", "t": ms, "f": "text", "e": ms, "k": "news", "c": "", "x": "",
	}, fields)
	require.Equal(t, messages.Stale, s.Claim("a", "g1", "n").Verdict)
	require.Equal(t, fault.CodeTooLate, s.Release("a").Code)
	require.Equal(t, fault.CodeTooLate, s.MoveTo("a", "13:00", "g2").Code)
	s.Holds("a 11:59:00.123")
}

// The id is kept as long as its place counts, and as long as the ids of other
// ended messages.
func TestARecordedSendIsKept(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/calendar_month")
	s.Until("12:00")
	recordSentMessage(s, "a", "11:00", "g1", "text")
	counts := story.PolicyOf(t, "1/calendar_month").LargestWindow() + policy.Grace
	require.Equal(t, counts-time.Hour, s.KeptFor("a"), "no longer than the place counts")
	short := story.NewMessages(t, "1/minute")
	short.Until("12:00")
	recordSentMessage(short, "a", "11:59:30", "g1", "text")
	require.Equal(t, sendlimit.DefaultKeepRecords, short.KeptFor("a"))
	short.Wait(90 * time.Second)
	require.True(t, recordSentMessage(short, "a", "11:59:30", "g2", "text").Replayed, "the place is forgotten, the id is not")
}

func TestRecordingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Until("12:00")
	first := recordSentMessage(s, "a", "11:59", "g1", "text")
	require.Equal(t, first, recordSentMessage(s, "a", "11:59", "g1", "text"), "the same call, repeated by the client")
	before := s.Server.Dump()
	require.Equal(t, sendlimit.Recorded{At: story.At("11:59"), Replayed: true, Now: s.Now}, recordSentMessage(s, "a", "11:59", "g2", "text"))
	require.Equal(t, sendlimit.Recorded{Code: fault.CodeIDReused, At: story.At("11:58"), Now: s.Now}, recordSentMessage(s, "a", "11:58", "g3", "other"))
	require.Equal(t, before, s.Server.Dump())
}

// A scheduled message is not overwritten: it will be sent.
func TestRecordingWhatIsScheduledHere(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/hour")
	s.Submit("a", "11:59", "g1", "text")
	s.Until("12:00")
	before := s.Server.Dump()
	require.True(t, recordSentMessage(s, "a", "11:59", "g2", "text").Replayed)
	require.Equal(t, fault.CodeIDReused, recordSentMessage(s, "a", "11:59", "g3", "other").Code)
	require.Equal(t, before, s.Server.Dump())

	s.Submit("b", "13:10", "g4", "text")
	s.Release("b")
	require.Equal(t, sendlimit.Recorded{At: story.At("11:50"), Now: s.Now}, recordSentMessage(s, "b", "11:50", "g5", "other"), "a cancelled id is free")
	require.Equal(t, "d", s.Field("b", "s"))
}

// A send counts from its millisecond until the end of the window.
func TestRecordedSendsAtTheEdges(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Until("12:00")
	for i, row := range []struct {
		when string
		want sendlimit.Recorded
	}{
		{"12:00:00.001", sendlimit.Recorded{Code: fault.CodeInvalidField}},
		{"12:00", sendlimit.Recorded{}},
		{"11:58:55", sendlimit.Recorded{}}, // a minute and the grace
		{"11:58:54.999", sendlimit.Recorded{Forgotten: true}},
		{"2020-01-01T00:00:00Z", sendlimit.Recorded{Forgotten: true}},
	} {
		row.want.At, row.want.Now = story.At(row.when), s.Now
		require.Equal(t, row.want, recordSentMessage(s, strconv.Itoa(i), row.when, "g", "text"), row.when)
	}
	s.Holds("2 11:58:55", "1 12:00:00")
	require.Len(t, s.Server.Keys(), 4, "the timeline, two records, and their entries in the index")
}

// Without records, the place identifies a repeated call.
func TestRecordSentWithoutRecords(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute")
	s.Until("12:00")
	ask := func(id, when string) sendlimit.Recorded {
		return recordSent(s, sendlimit.SentRequest{ID: id, At: story.At(when)})
	}
	require.Equal(t, sendlimit.Recorded{At: story.At("11:59:30"), Now: s.Now}, ask("a", "11:59:30"))
	require.Equal(t, sendlimit.Recorded{At: story.At("11:59:30"), Replayed: true, Now: s.Now}, ask("a", "11:59:30"))
	require.Equal(t, fault.CodeIDReused, ask("a", "11:59:31").Code)
	require.True(t, ask("b", "11:58").Forgotten)
	require.Equal(t, story.At("12:00:30"), s.Reserve("c", "12:00:10").NextFree)
	require.Equal(t, time.Minute+policy.Grace-30*time.Second, s.Server.TTL(s.Key()))
}

func TestRecordSentRefusesWhatIsInvalid(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	good := sendlimit.SentRequest{User: "alice", ID: "a", At: story.At("11:00"), Record: story.RecordOf("g", "text")}
	for field, edit := range map[string]func(*sendlimit.SentRequest){
		"user":       func(r *sendlimit.SentRequest) { r.User = "" },
		"id":         func(r *sendlimit.SentRequest) { r.ID = "a b" },
		"send_at":    func(r *sendlimit.SentRequest) { r.At = time.Time{} },
		"record":     func(r *sendlimit.SentRequest) { r.Record = nil },
		"generation": func(r *sendlimit.SentRequest) { r.Record = &sendlimit.Record{} },
	} {
		bad := good
		edit(&bad)
		_, err := s.Timeline.RecordSent(t.Context(), bad)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
	}
	require.Empty(t, s.Server.Keys())
}

func TestReleaseCancels(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	require.Equal(t, sendlimit.Decision{
		Allowed: true, At: story.At("11:11:11"), Now: s.Now,
		Superseded: sendlimit.Timer{User: "alice", ID: "a", Generation: "g1", Due: story.At("11:11:11")},
	}, s.Release("a"))
	require.Empty(t, s.Field("a", "c"), "the content is erased at once")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("a"))
	s.Holds()
	s.Watched()

	s.Wait(time.Hour)
	require.Equal(t, sendlimit.Decision{Allowed: true, Replayed: true, At: story.At("11:11:11"), Now: s.Now}, s.Release("a"))
	require.Equal(t, sendlimit.DefaultKeepRecords-time.Hour, s.KeptFor("a"), "cancelling twice does not keep it longer")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.Now}, s.Release("nobody"))
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.Now}, s.MoveTo("a", "12:00", "g2"))

	s.Wait(sendlimit.DefaultKeepRecords)
	require.Negative(t, s.KeptFor("a"))
	require.Equal(t, fault.CodeNotFound, s.Release("a").Code)
}

// The record of a message was lost, and its place refused the same id for ever. Others can't
// take such a place, since it may be of a message whose dead letter was purged.
func TestAPlaceWithoutARecordIsOfItsID(t *testing.T) {
	t.Parallel()
	lost := func(t *testing.T) *story.Messages {
		t.Helper()
		s := story.NewMessages(t, "1/hour")
		s.Submit("a", "11:00", "g-1", "text")
		s.Server.Del(story.KeysOf(s.Options).Record("alice", "a"))
		return s
	}
	reserve := func(s *story.Messages, id, at string) sendlimit.Decision {
		r := sendlimit.Request{User: "alice", ID: id, At: story.At(at), Record: story.RecordOf("g-"+id, "text"), Now: s.Now}
		checked, err := s.Timeline.Check(t.Context(), r)
		require.NoError(t, err)
		d, err := s.Timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, d.Allowed, checked.Allowed)
		return d
	}
	t.Run("submit", func(t *testing.T) {
		t.Parallel()
		s := lost(t)
		require.Equal(t, fault.CodeSendLimit, reserve(s, "b", "11:30").Code)
		require.True(t, reserve(s, "a", "11:20").Allowed)
		require.True(t, reserve(s, "b", "10:20").Allowed, "its place is not at its former time any more")
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		s := lost(t)
		d, err := s.Timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a", Now: s.Now})
		require.NoError(t, err)
		require.Equal(t, fault.CodeNotFound, d.Code)
		require.True(t, reserve(s, "b", "11:30").Allowed)
	})
	t.Run("past", func(t *testing.T) {
		t.Parallel()
		s := lost(t)
		s.Until("11:01")
		require.Equal(t, fault.CodeSendLimit, reserve(s, "a", "11:20").Code, "it may have been sent")
	})
}
