package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// messageStory is a story of alice's messages: places with records, and what
// delivers them. Generations are named by the test, "g1"; a fingerprint is
// the request's content.
type messageStory struct {
	*story

	gate  *messages.Gate
	watch *messages.WatchList
}

func newMessages(t *testing.T, rules ...string) *messageStory {
	t.Helper()
	return tellMessages(t, sendlimit.Options{Policy: policyOf(t, rules...)})
}

func tellMessages(t *testing.T, o sendlimit.Options) *messageStory {
	t.Helper()
	o.Records = true
	s := &messageStory{story: tell(t, o)}
	var err error
	s.gate, err = messages.NewGate(s.client, o)
	require.NoError(t, err)
	s.watch, err = messages.NewWatchList(s.client, o)
	require.NoError(t, err)
	return s
}

func (s *messageStory) submit(id, when, generation, content string) sendlimit.Decision {
	s.Helper()
	return s.ask(sendlimit.Request{ID: id, At: at(when), Record: recordOf(generation, content)})
}

func (s *messageStory) submitShifting(id, when, generation string) sendlimit.Decision {
	s.Helper()
	return s.ask(sendlimit.Request{ID: id, At: at(when), Shift: true, Record: recordOf(generation, "text")})
}

func recordOf(generation, content string) *sendlimit.Record {
	return &sendlimit.Record{Generation: generation, Fingerprint: content, Content: []byte(content)}
}

func (s *messageStory) moveTo(id, when, generation string) sendlimit.Decision {
	s.Helper()
	d, err := s.timeline.Move(s.Context(), sendlimit.MoveRequest{User: "alice", ID: id, At: at(when), Generation: generation})
	require.NoError(s, err)
	return d
}

// field reads a field of a record, "" where it is absent.
func (s *messageStory) field(id, name string) string {
	s.Helper()
	return s.server.HGet(keysOf(s.options).Record("alice", id), name)
}

// keptFor is how long a record is kept from now on; zero for ever, negative
// where there is none.
func (s *messageStory) keptFor(id string) time.Duration {
	s.Helper()
	key := keysOf(s.options).Record("alice", id)
	if !s.server.Exists(key) {
		return -1
	}
	return s.server.TTL(key)
}

// watched requires that the watch list has these entries, "generation/id" and
// the time of day at which to look.
func (s *messageStory) watched(wanted ...string) {
	s.Helper()
	entries, err := s.client.ZRangeWithScores(s.Context(), keysOf(s.options).Watch("alice"), 0, -1).Result()
	require.NoError(s, err)
	var found []string
	for _, e := range entries {
		member, ok := e.Member.(string)
		require.True(s, ok)
		user, id, generation, ok := keyspace.ParseWatchMember(member)
		require.True(s, ok, member)
		require.Equal(s, "alice", user)
		found = append(found, generation+"/"+id+" "+time.UnixMilli(int64(e.Score)).UTC().Format("15:04:05.999"))
	}
	require.Equal(s, wanted, found)
}

// confirm says that the queue has the message a.
func (s *messageStory) confirm(generation, due string) {
	s.Helper()
	require.NoError(s, s.watch.Confirm(s.Context(), []messages.Queued{
		{User: "alice", ID: "a", Generation: generation, Due: at(due)},
	}))
}

func TestReserveWritesPlaceRecordAndWatchEntry(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	d := s.ask(sendlimit.Request{ID: "a:b", At: at("11:11:11.5"), Record: &sendlimit.Record{
		Generation: "g1", Fingerprint: "print", ExpiresAt: at("12:00"), Category: "news", Content: []byte("text\x00\xff"),
	}})
	require.Equal(t, sendlimit.Decision{Allowed: true, At: at("11:11:11.5"), Now: s.now}, d)
	s.holds("a:b 11:11:11.5")
	fields, err := s.client.HGetAll(t.Context(), keysOf(s.options).Record("alice", "a:b")).Result()
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"g": "g1", "f": "print", "t": "1795345871500", "x": "1795348800000", "k": "news", "c": "text\x00\xff",
	}, fields)
	require.Zero(t, s.keptFor("a:b"), "a message that has not ended never expires")
	s.watched("g1/a:b 00:00:10")
}

func TestWatchEntriesFollowTheMessage(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:11:11.500", "g1", "text")
	s.watched("g1/a 00:00:10")
	s.wait(time.Second)
	s.confirm("g1", "11:11:11.500")
	s.watched("g1/a 11:12:11.5")

	require.True(t, s.moveTo("a", "12:00", "g2").Allowed)
	s.watched("g2/a 00:00:11")
	s.confirm("g1", "11:11:11.500")
	s.watched("g2/a 00:00:11")
	s.confirm("g2", "12:00")
	s.watched("g2/a 12:01:00")

	s.submit("b", "12:00:30", "g3", "text") // refused
	s.submit("c", "12:30", "g4", "text")
	s.watched("g4/c 00:00:11", "g2/a 12:01:00")
	s.release("a")
	s.watched("g4/c 00:00:11")
	s.release("c")
	s.watched()
}

// A late confirm of an older generation touched the newer one's watch entry,
// which then was looked after too late; or brought back one that had ended.
func TestPitfall47ALateConfirm(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:11:11", "g1", "text")
	s.moveTo("a", "15:00", "g2")
	s.confirm("g1", "11:11:11")
	s.watched("g2/a 00:00:10")
	s.release("a")
	s.confirm("g1", "11:11:11")
	s.confirm("g2", "15:00")
	s.watched()
	s.submit("a", "11:11:11", "g3", "other text")
	s.confirm("g2", "15:00")
	s.watched("g3/a 00:00:10")
}

func TestReplayWithRecords(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:11:11", "g1", "text")
	s.submit("b", "11:12:30", "g2", "text")

	d := s.submit("a", "11:11:11", "g3", "text")
	require.Equal(t, sendlimit.Decision{Allowed: true, Replayed: true, At: at("11:11:11"), Now: s.now}, d)
	require.Equal(t, "g1", s.field("a", "g"), "a replay changes nothing")
	d = s.submit("a", "11:11:11", "g3", "other text")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeIDReused, At: at("11:11:11"), Now: s.now}, d)

	d = s.submitShifting("s", "11:11:11", "g4")
	shifted := sendlimit.Decision{Allowed: true, Shifted: true, At: at("11:13:30"), RequestedAt: at("11:11:11"), Now: s.now}
	require.Equal(t, shifted, d)
	s.release("b") // so that a place nearer by is free
	shifted.Replayed = true
	require.Equal(t, shifted, s.submitShifting("s", "11:11:11", "g5"), "the first answer, not a better one")

	s.moveTo("s", "15:00", "g6")
	shifted.At = at("15:00")
	require.Equal(t, shifted, s.submitShifting("s", "11:11:11", "g7"),
		"the present send time, the original requested time")
	s.moveTo("a", "16:00", "g8")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, Replayed: true, At: at("16:00"), RequestedAt: at("11:11:11"), Now: s.now},
		s.submit("a", "11:11:11", "g9", "text"))
	s.watched("g6/s 00:00:10", "g8/a 00:00:10")
}

func TestCheckWithRecords(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:11:11", "g1", "text")
	check := func(id, content string) sendlimit.Decision {
		d, err := s.timeline.Check(t.Context(), sendlimit.Request{
			User: "alice", ID: id, At: at("11:11:11"), Record: &sendlimit.Record{Fingerprint: content},
		})
		require.NoError(t, err)
		return d
	}
	before := s.server.Dump()
	require.True(t, check("a", "text").Replayed)
	require.Equal(t, fault.CodeIDReused, check("a", "other text").Code)
	require.Equal(t, fault.CodeSendLimit, check("b", "text").Code)
	require.Equal(t, before, s.server.Dump())
}

func TestReleaseCancels(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:11:11", "g1", "text")
	require.Equal(t, sendlimit.Decision{Allowed: true, At: at("11:11:11"), Now: s.now}, s.release("a"))
	require.Empty(t, s.field("a", "c"), "the content is erased at once")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.keptFor("a"))
	s.holds()
	s.watched()

	s.wait(time.Hour)
	require.Equal(t, sendlimit.Decision{Allowed: true, Replayed: true, At: at("11:11:11"), Now: s.now}, s.release("a"))
	require.Equal(t, sendlimit.DefaultKeepRecords-time.Hour, s.keptFor("a"), "cancelling twice does not keep it longer")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.now}, s.release("nobody"))
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.now}, s.moveTo("a", "12:00", "g2"))

	s.wait(sendlimit.DefaultKeepRecords)
	require.Negative(t, s.keptFor("a"))
	require.Equal(t, fault.CodeNotFound, s.release("a").Code)
}

// A cancelled message's id was submitted again for the same time with other
// content, while the old task still waited: what goes out is the new content,
// once.
func TestPitfall41ResubmittedAfterACancel(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:11:11", "g1", "old text")
	s.release("a")
	d := s.submit("a", "11:11:11", "g2", "new text")
	require.Equal(t, sendlimit.Decision{Allowed: true, At: at("11:11:11"), Now: s.now}, d, "a cancelled id is free")
	require.Zero(t, s.keptFor("a"), "it has not ended, whatever did before it")
	s.watched("g2/a 00:00:10")

	s.until("11:11:11")
	require.Equal(t, messages.Stale, s.claim("a", "g1", "n1").Verdict)
	claim := s.claim("a", "g2", "n2")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, "new text", string(claim.Content))
	require.True(t, s.settle("a", "g2", "n2", messages.Settlement{Delivered: true}))
	require.Equal(t, messages.Stale, s.claim("a", "g1", "n3").Verdict)
	require.Equal(t, messages.Stale, s.claim("a", "g2", "n4").Verdict)
}

// A message moved away and back again, with tasks for both times waiting, was
// delivered twice or at the wrong time.
func TestPitfall42MovedThereAndBack(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	require.Equal(t, at("11:00"), s.moveTo("a", "12:00", "g2").MovedFrom)
	require.Equal(t, at("12:00"), s.moveTo("a", "11:00", "g3").MovedFrom)
	s.holds("a 11:00:00")
	s.watched("g3/a 00:00:10")

	s.until("11:00")
	require.Equal(t, messages.Stale, s.claim("a", "g1", "n1").Verdict)
	require.Equal(t, messages.Send, s.claim("a", "g3", "n2").Verdict)
	require.True(t, s.settle("a", "g3", "n2", messages.Settlement{Delivered: true}))
	s.until("12:00")
	require.Equal(t, messages.Stale, s.claim("a", "g2", "n3").Verdict)
}

func TestMoveWithRecords(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.submit("b", "13:00", "g2", "text")

	d := s.moveTo("a", "13:00:30", "g3")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, "g1", s.field("a", "g"), "refused: the old place and its task stay")
	require.Equal(t, sendlimit.Decision{Allowed: true, At: at("11:00"), MovedFrom: at("11:00"), Now: s.now},
		s.moveTo("a", "11:00", "g4"))
	require.Equal(t, "g1", s.field("a", "g"), "nothing changed, and so neither did the generation")
	s.watched("g1/a 00:00:10", "g2/b 00:00:10")

	require.Equal(t, sendlimit.Decision{Allowed: true, At: at("12:00"), MovedFrom: at("11:00"), Now: s.now},
		s.moveTo("a", "12:00", "g5"))
	s.holds("a 12:00:00", "b 13:00:00")
	require.Equal(t, "text", s.field("a", "c"))
}

func TestAMoveKeepsTheFirstRequestedTime(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.submitShifting("s", "11:00:30", "g2")
	s.moveTo("s", "12:00", "g3")
	s.moveTo("s", "13:00", "g4")
	s.moveTo("a", "14:00", "g5")
	s.until("13:00")
	require.Equal(t, at("11:00:30"), s.claim("s", "g4", "n1").RequestedAt, "not 11:01, where the shift put it, nor 12:00")
	s.until("14:00")
	require.Equal(t, at("11:00"), s.claim("a", "g5", "n2").RequestedAt)
}

func TestAMoveStaysWithinTheExpiry(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	r := sendlimit.Request{ID: "a", At: at("11:00"), Record: recordOf("g1", "text")}
	r.Record.ExpiresAt = at("12:00")
	require.True(t, s.ask(r).Allowed)
	require.Equal(t,
		sendlimit.Decision{Code: fault.CodePastExpiry, At: at("12:00"), ExpiresAt: at("12:00"), Now: s.now},
		s.moveTo("a", "12:00", "g2"))
	s.holds("a 11:00:00")
	require.True(t, s.moveTo("a", "11:59:59.999", "g3").Allowed)
	s.until("11:59:59.999")
	require.Equal(t, messages.Send, s.claim("a", "g3", "n1").Verdict)
}
