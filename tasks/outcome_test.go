package tasks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// on is a time of day of the contract's examples, 2026-11-22.
func on(clock string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, "2026-11-22T"+clock+"Z")
	if err != nil {
		panic(err) // the test is wrong
	}
	return at
}

// tellAt11 tells a story whose store stands still at eleven o'clock.
func tellAt11(t *testing.T, told func(*story), rules ...string) {
	t.Helper()
	tell(t, func(s *story) {
		s.server.SetTime(on("11:00:00"))
		told(s)
	}, rules...)
}

// to is a message to alice at a time of day.
func to(id, clock string) message.Message {
	return message.Message{ID: id, User: "alice", SendAt: on(clock), Title: id}
}

// requireJSON requires the very text, the order of fields included.
func requireJSON(t *testing.T, want string, o message.Outcome) {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	require.Equal(t, want, string(text))

	var again message.Outcome
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, o, again, "read back")
}

func TestOutcomesAsTheContractSpellsThem(t *testing.T) {
	tellAt11(t, func(s *story) {
		first := to("a", "11:11:11")
		requireJSON(s.T, `{"outcome":"accepted","id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z"}`, s.submit(first))
		requireJSON(s.T, `{"outcome":"accepted","id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z","replayed":true}`,
			s.submit(first))

		requireJSON(s.T, `{"outcome":"refused","code":"send_limit","id":"b","user":"alice","send_at":"2026-11-22T11:11:12.000Z",`+
			`"detail":"alice already has a message at 11:11:11, within 1 minute; the next free time is 11:12:11",`+
			`"violations":[{"rule":"1/minute","limit":1,"kind":"sliding","window_seconds":60,`+
			`"conflicts":[{"id":"a","send_at":"2026-11-22T11:11:11.000Z"}],"conflicts_total":1}],`+
			`"next_free_at":"2026-11-22T11:12:11.000Z","previous_free_at":"2026-11-22T11:10:11.000Z"}`,
			s.submit(to("b", "11:11:12")))

		shifted := to("b", "11:11:12")
		shifted.OnConflict = "shift"
		requireJSON(s.T, `{"outcome":"accepted","id":"b","user":"alice","send_at":"2026-11-22T11:12:11.000Z",`+
			`"requested_at":"2026-11-22T11:11:12.000Z","shifted":true}`, s.submit(shifted))
		requireJSON(s.T, `{"outcome":"accepted","id":"b","user":"alice","send_at":"2026-11-22T11:12:11.000Z",`+
			`"requested_at":"2026-11-22T11:11:12.000Z","shifted":true,"replayed":true}`, s.submit(shifted))

		o, err := s.Move(s.Context(), "alice", "a", on("11:20:00"))
		require.NoError(s, err)
		requireJSON(s.T, `{"outcome":"moved","id":"a","user":"alice","send_at":"2026-11-22T11:20:00.000Z",`+
			`"moved_from":"2026-11-22T11:11:11.000Z"}`, o)
		requireJSON(s.T, `{"outcome":"accepted","id":"a","user":"alice","send_at":"2026-11-22T11:20:00.000Z",`+
			`"requested_at":"2026-11-22T11:11:11.000Z","replayed":true}`, s.submit(first))

		o, err = s.Cancel(s.Context(), "alice", "a")
		require.NoError(s, err)
		requireJSON(s.T, `{"outcome":"cancelled","id":"a","user":"alice"}`, o)
		o, err = s.Cancel(s.Context(), "alice", "a")
		require.NoError(s, err)
		requireJSON(s.T, `{"outcome":"cancelled","id":"a","user":"alice","replayed":true}`, o)
	})
}

func TestOutcomeOfErrors(t *testing.T) {
	t.Parallel()
	_, err := message.Draft{User: "alice", SendAt: message.When{Text: "tomorrow"}, Title: "Hi"}.Message(message.ParseTime)
	o := message.OutcomeOf(fmt.Errorf("line 7: %w", err))
	o.Line = 7
	requireJSON(t, `{"outcome":"invalid","line":7,"code":"invalid_field","field":"send_at","detail":"send_at \"tomorrow\"`+
		` is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z"}`, o)
	require.False(t, o.OK())

	o = message.OutcomeOf(fmt.Errorf("reserving a place: %w", &fault.UnavailableError{Detail: "no Redis", Err: errors.New("x")}))
	requireJSON(t, `{"outcome":"error","code":"unavailable","detail":"no Redis"}`, o)
	require.False(t, o.OK())

	several := fault.InvalidErrors{{Field: "a", Value: "1", Want: "2"}, {Field: "b", Want: "3"}}
	requireJSON(t, `{"outcome":"invalid","code":"invalid_field","field":"a",`+
		`"detail":"a \"1\" is not allowed: use 2; b \"\" is not allowed: use 3"}`, message.OutcomeOf(fmt.Errorf("reading: %w", several)))

	requireJSON(t, `{"outcome":"error","detail":"something else"}`, message.OutcomeOf(errors.New("something else")))
}

// sentence is what a person is told of a refusal.
func (s *story) sentence(o message.Outcome, err error) string {
	s.Helper()
	require.NoError(s, err)
	require.False(s, o.OK(), "%+v", o)
	return o.Detail
}

func TestSentencesOfConflicts(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.accepted(to("a", "11:11:11"), to("b", "11:13:11.5"))
		submit := func(clock string) string { return s.sentence(s.Submit(s.Context(), to("x", clock))) }
		require.Equal(s, "alice already has a message at 11:13:11.500, within 1 minute; the next free time is 11:14:11.500",
			submit("11:12:11.501"))
		require.Equal(s, "alice already has a message at 11:11:11, within 1 minute; the next free time is 11:12:11",
			submit("11:10:11.001"))

		s.accepted(to("c", "11:12:11"), to("d", "11:30:00"), to("e", "11:40:00"))
		require.Equal(s, "alice already has 2 messages around then (11:11:11 to 11:12:11), and 1 in any 1 minute is the limit;"+
			" the next free time is 12:11:11", submit("11:11:41"))
		require.Equal(s, "alice already has 5 messages around then (11:11:11 to 11:40:00), and 5 in any 1 hour is the limit;"+
			" the next free time is 12:11:11", submit("11:50:00"))

		s.accepted(to("f", "23:00:00"), to("g", "23:10:00"), to("h", "23:20:00"), to("i", "23:30:00"), to("j", "23:59:30"))
		require.Equal(s, "alice already has 10 messages on that day, and 10 is the limit;"+
			" the next free time is 2026-11-23 00:00:30", submit("18:00:00"))
	})
}

func TestSentencesOfOtherRules(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule     string
		taken    int // messages, a second apart from 11:11:11 on
		at       string
		sentence string
	}{
		{"1/1s", 1, "11:11:11", "a message at 11:11:11, within 1 second; the next free time is 11:11:12"},
		{"1/90s", 1, "11:12:00", "a message at 11:11:11, within 90 seconds; the next free time is 11:12:41"},
		{"1/day", 1, "11:12:00", "a message at 11:11:11, within 1 day; the next free time is 2026-11-23 11:11:11"},
		{"1/72h", 1, "11:12:00", "a message at 11:11:11, within 3 days; the next free time is 2026-11-25 11:11:11"},
		{"1/week", 1, "11:12:00", "a message at 11:11:11, within 1 week; the next free time is 2026-11-29 11:11:11"},
		{
			"12/hour", 12, "11:12:00",
			"12 messages around then (from 11:11:11 on), and 12 in any 1 hour is the limit; the next free time is 12:11:11",
		},
		{
			"1/calendar_hour", 1, "11:59:59.999",
			"1 message in that hour (11:00:00 to 12:00:00), and 1 is the limit; the next free time is 12:00:00",
		},
		{"1/calendar_day", 1, "23:00:00", "1 message on that day, and 1 is the limit; the next free time is 2026-11-23 00:00:00"},
		{
			"2/calendar_week", 2, "12:00:00",
			"2 messages in that week (2026-11-16 00:00:00 to 2026-11-23 00:00:00), and 2 is the limit;" +
				" the next free time is 2026-11-23 00:00:00",
		},
		{
			"1/calendar_month", 1, "12:00:00",
			"1 message in that month (2026-11-01 00:00:00 to 2026-12-01 00:00:00), and 1 is the limit;" +
				" the next free time is 2026-12-01 00:00:00",
		},
	} {
		t.Run(strings.ReplaceAll(row.rule, "/", " per "), func(t *testing.T) {
			tellAt11(t, func(s *story) {
				for i := range row.taken {
					s.accepted(to(fmt.Sprintf("m%d", i), fmt.Sprintf("11:11:%d", 11+i)))
				}
				o := s.submit(to("x", row.at))
				require.Equal(s, "alice already has "+row.sentence, o.Detail)
				require.Len(s, o.Violations, 1)
				require.Equal(s, row.taken, o.Violations[0].ConflictsTotal)
				require.Len(s, o.Violations[0].Conflicts, min(row.taken, sendlimit.MaxConflicts))
			}, row.rule)
		})
	}
}

// A calendar rule's violation has its period in place of a window.
func TestOutcomeOfACalendarRule(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.accepted(to("a", "11:11:11"))
		requireJSON(s.T, `{"outcome":"refused","code":"send_limit","id":"b","user":"alice","send_at":"2026-11-22T12:00:00.000Z",`+
			`"detail":"alice already has 1 message on that day, and 1 is the limit; the next free time is 2026-11-23 00:00:00",`+
			`"violations":[{"rule":"1/calendar_day","limit":1,"kind":"calendar",`+
			`"from":"2026-11-22T00:00:00.000Z","until":"2026-11-23T00:00:00.000Z",`+
			`"conflicts":[{"id":"a","send_at":"2026-11-22T11:11:11.000Z"}],"conflicts_total":1}],`+
			`"next_free_at":"2026-11-23T00:00:00.000Z"}`, s.submit(to("b", "12:00:00")))
	}, "1/calendar_day")
}

// Where the reach ends there may be no free time.
func TestSentencesAtTheReach(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.shared.Reach = time.Hour
		s.Submitter = s.newSubmitter(submit.Options{})
		s.accepted(to("a", "11:50:00"))
		o := s.submit(to("b", "11:40:00"))
		require.Equal(s, "alice already has a message at 11:50:00, within 15 minutes;"+
			" no later time is free, the last free one is 11:35:00", o.Detail)
		s.accepted(to("c", "11:35:00"), to("d", "11:20:00"), to("e", "11:05:00"))
		o = s.submit(to("f", "11:10:00"))
		require.Equal(s, "alice already has 2 messages around then (11:05:00 to 11:20:00), and 1 in any 15 minutes is the limit;"+
			" no time is free as far ahead as messages are accepted", o.Detail)
		require.Zero(s, o.NextFreeAt)
		require.Zero(s, o.PreviousFreeAt)
	}, "1/15m")
}

func TestSentencesOfTheOtherCodes(t *testing.T) {
	tellAt11(t, func(s *story) {
		o := s.submit(to("a", "10:59:54.999"))
		require.Equal(s, message.Invalid, o.Outcome)
		require.Equal(s, fault.CodeInPast, o.Code)
		require.Equal(s, "send_at", o.Field)
		require.Equal(s, "10:59:54.999 is in the past: it is 2026-11-22T11:00:00.000Z now; use a later time, send_at now, or late now to send messages whose time has passed", o.Detail)

		far := to("a", "11:00:00.001")
		far.SendAt = far.SendAt.Add(policy.DefaultReach)
		o = s.submit(far)
		require.Equal(s, message.Invalid, o.Outcome)
		require.Equal(s, fault.CodeTooFarAhead, o.Code)
		require.Equal(s, "send_at", o.Field)
		require.Equal(s, "2027-11-23 11:00:00.001 is too far ahead: the latest send time is 2027-11-23T11:00:00.000Z", o.Detail)

		s.accepted(to("a", "11:11:11"))
		o = s.submit(to("a", "11:11:12"))
		require.Equal(s, message.Refused, o.Outcome)
		require.Equal(s, fault.CodeIDReused, o.Code)
		require.Equal(s, "the id a stands for another message to alice: use another id for another message", o.Detail)

		require.Equal(s, `no pending message "b" of user "alice"`,
			s.sentence(s.Cancel(s.Context(), "alice", "b")))
		require.Equal(s, `no pending message "b" of user "alice"`,
			s.sentence(s.Move(s.Context(), "alice", "b", on("12:00:00"))))

		short := to("short", "12:00:00")
		short.ExpiresAt = on("12:30:00")
		s.accepted(short)
		o, err := s.Move(s.Context(), "alice", "short", on("12:30:00"))
		require.NoError(s, err)
		require.Equal(s, message.Invalid, o.Outcome)
		require.Equal(s, fault.CodeInvalidField, o.Code)
		require.Equal(s, "send_at", o.Field)
		require.Equal(s, "12:30:00 is not before the message's expires_at 2026-11-22T12:30:00.000Z: use an earlier time", o.Detail)
	})
}

// A time in an outcome is one in UTC with milliseconds, whatever was given.
func TestTimeOfAnOutcome(t *testing.T) {
	t.Parallel()
	at := message.Time{Time: time.Date(2026, time.November, 22, 12, 11, 11, 123999999, time.FixedZone("", 3600))}
	text, err := at.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "2026-11-22T11:11:11.123Z", string(text))
	var read message.Time
	require.NoError(t, json.Unmarshal([]byte(`"2026-11-22T12:11:11.123+01:00"`), &read))
	require.Equal(t, on("11:11:11.123"), read.Time)
	require.ErrorContains(t, json.Unmarshal([]byte(`"noon"`), &read), "time of an outcome")
}
