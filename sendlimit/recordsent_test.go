package sendlimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func (s *story) recordSent(r sendlimit.SentRequest) sendlimit.Recorded {
	s.Helper()
	r.User = "alice"
	recorded, err := s.timeline.RecordSent(s.Context(), r)
	require.NoError(s, err)
	return recorded
}

func (s *messageStory) sent(id, when, generation, content string) sendlimit.Recorded {
	s.Helper()
	return s.recordSent(sendlimit.SentRequest{ID: id, At: at(when), Record: recordOf(generation, content)})
}

// Ten sends of this morning count: the eleventh of the day is refused, and so
// is what is within an hour of the last five.
func TestRecordedSendsCount(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute", "5/hour", "10/calendar_day")
	s.until("12:00")
	for i, when := range []string{
		"11:55", "11:55", "11:55", // nothing is judged
		"11:40", "11:30", "10:00", "09:00", "08:00", "07:00", "06:00",
	} {
		d := s.sent(strconv.Itoa(i), when, "g", "text")
		require.Equal(t, sendlimit.Recorded{At: at(when), Now: s.now}, d)
	}
	d := s.submit("eleventh", "12:20", "g", "text")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, []string{"5/hour", "10/calendar_day"}, broken(d))
	require.Equal(t, at("23 00:00"), d.NextFree)
	require.True(t, s.submit("eleventh", "23 00:00", "g", "text").Allowed, "the next free time is free")

	s.under("1/minute", "5/hour")
	require.Equal(t, at("12:30"), s.submit("sixth", "12:20", "g", "text").NextFree)
}

// A recorded send is over: nobody looks after it, nothing of it is kept that a
// delivery needs, and no task of it delivers.
func TestARecordedSendIsOver(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.until("12:00")
	r := recordOf("g1", "text")
	r.Category, r.ExpiresAt = "news", at("13:00")
	s.recordSent(sendlimit.SentRequest{ID: "a", At: at("11:59:00.123"), Record: r})
	s.watched()
	fields := map[string]string{}
	for _, name := range []string{"g", "s", "t", "f", "e", "k", "c", "x"} {
		fields[name] = s.field("a", name)
	}
	ms := "1795348740123"
	require.Equal(t, map[string]string{
		"g": "g1", "s": "d", "t": ms, "f": "text", "e": ms, "k": "news", "c": "", "x": "",
	}, fields)
	require.Equal(t, messages.Stale, s.claim("a", "g1", "n").Verdict)
	require.Equal(t, fault.CodeTooLate, s.release("a").Code)
	require.Equal(t, fault.CodeTooLate, s.moveTo("a", "13:00", "g2").Code)
	s.holds("a 11:59:00.123")
}

// The id is remembered as long as its place counts, and as other ended
// messages' ids are.
func TestARecordedSendIsKept(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/calendar_month")
	s.until("12:00")
	s.sent("a", "11:00", "g1", "text")
	counts := policyOf(t, "1/calendar_month").LargestWindow() + policy.Grace
	require.Equal(t, counts-time.Hour, s.keptFor("a"), "no longer than the place counts")
	short := newMessages(t, "1/minute")
	short.until("12:00")
	short.sent("a", "11:59:30", "g1", "text")
	require.Equal(t, sendlimit.DefaultKeepRecords, short.keptFor("a"))
	short.wait(90 * time.Second)
	require.True(t, short.sent("a", "11:59:30", "g2", "text").Replayed, "the place is forgotten, the id is not")
}

func TestRecordingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.until("12:00")
	first := s.sent("a", "11:59", "g1", "text")
	require.Equal(t, first, s.sent("a", "11:59", "g1", "text"), "the same call, repeated by the client")
	before := s.server.Dump()
	require.Equal(t, sendlimit.Recorded{At: at("11:59"), Replayed: true, Now: s.now}, s.sent("a", "11:59", "g2", "text"))
	require.Equal(t, sendlimit.Recorded{Code: fault.CodeIDReused, At: at("11:58"), Now: s.now}, s.sent("a", "11:58", "g3", "other"))
	require.Equal(t, before, s.server.Dump())
}

// What is scheduled here is not recorded over: it will be sent.
func TestRecordingWhatIsScheduledHere(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/hour")
	s.submit("a", "11:59", "g1", "text")
	s.until("12:00")
	before := s.server.Dump()
	require.True(t, s.sent("a", "11:59", "g2", "text").Replayed)
	require.Equal(t, fault.CodeIDReused, s.sent("a", "11:59", "g3", "other").Code)
	require.Equal(t, before, s.server.Dump())

	s.submit("b", "13:10", "g4", "text")
	s.release("b")
	require.Equal(t, sendlimit.Recorded{At: at("11:50"), Now: s.now}, s.sent("b", "11:50", "g5", "other"), "a cancelled id is free")
	require.Equal(t, "d", s.field("b", "s"))
}

// A send counts from its millisecond on, for as long as a rule looks back.
func TestRecordedSendsAtTheEdges(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.until("12:00")
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
		row.want.At, row.want.Now = at(row.when), s.now
		require.Equal(t, row.want, s.sent(strconv.Itoa(i), row.when, "g", "text"), row.when)
	}
	s.holds("2 11:58:55", "1 12:00:00")
	require.Len(t, s.server.Keys(), 3, "the timeline and two records")
}

// Without records it is the place that tells a repeated call.
func TestRecordSentWithoutRecords(t *testing.T) {
	t.Parallel()
	s := newStory(t, "1/minute")
	s.until("12:00")
	ask := func(id, when string) sendlimit.Recorded {
		return s.recordSent(sendlimit.SentRequest{ID: id, At: at(when)})
	}
	require.Equal(t, sendlimit.Recorded{At: at("11:59:30"), Now: s.now}, ask("a", "11:59:30"))
	require.Equal(t, sendlimit.Recorded{At: at("11:59:30"), Replayed: true, Now: s.now}, ask("a", "11:59:30"))
	require.Equal(t, fault.CodeIDReused, ask("a", "11:59:31").Code)
	require.True(t, ask("b", "11:58").Forgotten)
	require.Equal(t, at("12:00:30"), s.reserve("c", "12:00:10").NextFree)
	require.Equal(t, time.Minute+policy.Grace-30*time.Second, s.server.TTL(s.key()))
}

func TestRecordSentRefusesWhatIsInvalid(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	good := sendlimit.SentRequest{User: "alice", ID: "a", At: at("11:00"), Record: recordOf("g", "text")}
	for field, edit := range map[string]func(*sendlimit.SentRequest){
		"user":       func(r *sendlimit.SentRequest) { r.User = "" },
		"id":         func(r *sendlimit.SentRequest) { r.ID = "a b" },
		"send_at":    func(r *sendlimit.SentRequest) { r.At = time.Time{} },
		"record":     func(r *sendlimit.SentRequest) { r.Record = nil },
		"generation": func(r *sendlimit.SentRequest) { r.Record = &sendlimit.Record{} },
	} {
		bad := good
		edit(&bad)
		_, err := s.timeline.RecordSent(t.Context(), bad)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
	}
	require.Empty(t, s.server.Keys())
}
