package tasks_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// throttleOf reads a throttle.
func throttleOf(tb testing.TB, text string) policy.CategoryRules {
	tb.Helper()
	t, err := policy.ParseThrottle(text)
	require.NoError(tb, err)
	return policy.CategoryRules{Throttle: t}
}

// throttle applies a policy with a throttle for marketing.
func (s *story) throttle(limit string, rules ...string) {
	s.Helper()
	s.policy(func(p *policy.Policy) {
		p.Categories = map[string]policy.CategoryRules{"marketing": throttleOf(s, limit), "news": {Rules: rulesOf(s, "20/calendar_day")}}
		if len(rules) > 0 {
			p.Rules = rulesOf(s, rules...)
		}
	})
	time.Sleep(3 * time.Second) // all processes follow it
	synctest.Wait()
}

// ad is a marketing message to a user of its own.
func (s *story) ad(id string, after time.Duration) message.Message {
	m := s.message(id, after)
	m.User, m.Category = "user-"+id, "marketing"
	return m
}

// requireThrottled requires the counts of the throttle marketing of the default policy, by
// the minute they begin with; no hold is open.
func (s *story) requireThrottled(want map[string]int) {
	s.Helper()
	time.Sleep(10 * time.Millisecond) // what is settled in the background
	synctest.Wait()
	found := make(map[string]int)
	keys, err := s.client.Keys(s.Context(), "sl:{p*}:q:~default~marketing~*").Result()
	require.NoError(s, err)
	for _, key := range keys {
		n, err := s.client.Get(s.Context(), key).Int()
		require.NoError(s, err)
		var ms int64
		_, err = fmt.Sscanf(key[len(key)-12:], "%d", &ms)
		require.NoError(s, err, key)
		found[time.UnixMilli(ms).UTC().Format("15:04")] = n
		require.Positive(s, s.client.PTTL(s.Context(), key).Val(), "it expires")
	}
	require.Equal(s, want, found)
	held, err := s.client.Keys(s.Context(), "sl:{p*}:holds").Result()
	require.NoError(s, err)
	require.Empty(s, held)
}

func TestAThrottleRefusesInASentence(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("2/minute")
		noon := 12 * time.Hour
		s.accepted(s.ad("1", noon), s.ad("2", noon+30*time.Second))
		requireJSON(s.T, `{"outcome":"refused","code":"throttled","id":"3","user":"user-3","send_at":"2000-01-01T12:00:59.999Z",`+
			`"detail":"marketing messages are limited to 2 a minute over all users, and 2 are scheduled for 12:00; the next free time is 12:01:00",`+
			`"next_free_at":"2000-01-01T12:01:00.000Z","previous_free_at":"2000-01-01T11:59:59.999Z"}`,
			s.submit(s.ad("3", noon+time.Minute-time.Millisecond)))
		checked, err := s.Check(s.Context(), s.ad("3", noon+time.Minute-time.Millisecond))
		require.NoError(s, err)
		require.Equal(s, s.submit(s.ad("3", noon+time.Minute-time.Millisecond)), checked)
		require.Equal(s, "marketing messages are limited to 2 a minute over all users, and 2 are scheduled for 2000-01-03 12:00; the next free time is 12:01:00",
			func() string {
				s.accepted(s.ad("4", noon+48*time.Hour), s.ad("5", noon+48*time.Hour))
				return s.submit(s.ad("6", noon+48*time.Hour)).Detail
			}())
		s.requireThrottled(map[string]int{"12:00": 2})

		other := s.ad("3", noon)
		other.Category = "news"
		s.accepted(other, s.ad("7", noon-time.Millisecond), s.ad("8", noon+time.Minute))
		require.True(s, s.submit(s.ad("1", noon)).Replayed)
		past := s.ad("9", -time.Hour)
		require.Equal(s, fault.CodeInPast, s.submit(past).Code)
	})
}

func TestAThrottleByTheHour(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/hour")
		s.accepted(s.ad("1", 12*time.Hour+59*time.Minute))
		o := s.submit(s.ad("2", 12*time.Hour))
		require.Equal(s, "marketing messages are limited to 1 an hour over all users, and 1 is scheduled for 12:00 to 13:00; the next free time is 13:00:00", o.Detail)
		s.accepted(s.ad("2", 13*time.Hour))
	})
}

// What was always said before the quota is said before the throttle, and a broken rule after.
func TestWhatComesBeforeAThrottle(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) {
			p.QuietHours = quiet(s, "22:00-08:00")
			p.Categories = map[string]policy.CategoryRules{"marketing": throttleOf(s, "1/minute")}
		})
		s.charges("acme", accounts.Tier{MessagesPerDay: 3}, "")
		noon := 12 * time.Hour
		paid := func(id string, after time.Duration) message.Message {
			m := s.ad(id, after)
			m.Account = "acme"
			return m
		}
		s.accepted(paid("1", noon))
		s.set("user-2", policy.UserSettings{Blocked: true})
		s.set("user-3", policy.UserSettings{OptOut: []string{"marketing"}})
		for i, m := range []message.Message{s.ad("2", noon), s.ad("3", noon), s.ad("4", 23*time.Hour), s.ad("5", 367*24*time.Hour)} {
			o := s.submit(m)
			require.Equal(s, []fault.Code{fault.CodeBlocked, fault.CodeOptedOut, fault.CodeQuietHours, fault.CodeTooFarAhead}[i], o.Code, "%+v", o)
		}
		again := s.ad("6", noon)
		again.User = "user-1"
		o := s.submit(again)
		require.Equal(s, fault.CodeThrottled, o.Code, "it would break 1/minute as well")
		require.Equal(s, s.at(noon+time.Minute), o.NextFreeAt.Time)
		s.accepted(paid("7", noon+time.Minute), paid("8", noon+2*time.Minute))
		require.Equal(s, fault.CodeQuotaExceeded, s.submit(paid("9", noon)).Code, "the quota comes first")
		o = s.submit(again)
		require.Equal(s, s.at(noon+3*time.Minute), o.NextFreeAt.Time, "free for the user and in the throttle")
		unlimited := s.message("10", noon)
		unlimited.User = "user-1"
		require.Equal(s, fault.CodeSendLimit, s.submit(unlimited).Code)
		s.requireThrottled(map[string]int{"12:00": 1, "12:01": 1, "12:02": 1})
	})
}

// A timeline takes no place in a category with a throttle that was not charged.
func TestATimelineDemandsTheCharge(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("3/minute")
		timeline, err := s.Timeline(s.Context())
		require.NoError(s, err)
		r := sendlimit.Request{
			User: "u", ID: "a", At: s.at(time.Hour),
			Record: &sendlimit.Record{Generation: keyspace.NewToken(), Category: "marketing"},
		}
		d, err := timeline.Reserve(s.Context(), r)
		require.NoError(s, err)
		require.Equal(s, fault.CodeHoldOver, d.Code)
		s.throttle("4/minute")
		timeline, err = s.Timeline(s.Context())
		require.NoError(s, err)
		p := s.Policies.Rules().Policies()[0]
		stale := p.ThrottleOf("marketing")
		stale.Limit = 3
		r.Hold = &sendlimit.Hold{Throttle: stale, Attempt: keyspace.NewToken(), NotAfter: s.at(time.Hour)}
		d, err = timeline.Reserve(s.Context(), r)
		require.NoError(s, err)
		require.Equal(s, fault.CodeHoldOver, d.Code, "it had the former limit")
		r.Hold.Throttle = p.ThrottleOf("marketing")
		d, err = timeline.Reserve(s.Context(), r)
		require.NoError(s, err)
		require.True(s, d.Allowed)
	})
}

// What is late, or sent after all, is not judged anew.
func TestLateMessagesDoNotAskAThrottle(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/minute")
		s.accepted(s.ad("1", time.Minute))
		s.until(3 * time.Minute)
		defer s.work()()
		s.until(4 * time.Minute)
		records := messages.NewRecords(s.client, keyspace.KeysUnder(""))
		found, err := records.Look(s.Context(), "user-1", "1")
		require.NoError(s, err)
		require.Equal(s, messages.StateDelivered, found[0].State)
		s.requireThrottled(map[string]int{"00:01": 1})
		o, err := s.RecordSent(s.Context(), message.Message{ID: "sent", User: "u", SendAt: s.at(2 * time.Minute), Category: "marketing"})
		require.NoError(s, err)
		require.Equal(s, message.Recorded, o.Outcome)
		s.requireThrottled(map[string]int{"00:01": 1})
	})
}

// Where a message is counts as free for its own move under a throttle, too: a shift does not
// move it behind its own place.
func TestAShiftUnderAThrottleToWhereTheMessageIs(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/minute", "1/minute")
		noon := 12 * time.Hour
		for i, id := range []string{"first", "second", "a"} {
			m := s.message(id, noon+time.Duration(i)*time.Minute)
			m.Category = "marketing"
			s.accepted(m)
		}
		body := "new"
		for _, to := range []time.Duration{noon, noon + time.Second, noon + 2*time.Minute - time.Millisecond} {
			refused, err := s.Move(s.Context(), "alice", "a", s.at(to))
			require.NoError(s, err)
			require.Equal(s, []any{fault.CodeThrottled, s.at(noon + 2*time.Minute)}, []any{refused.Code, refused.NextFreeAt.Time})
			for _, e := range []message.Edit{{}, {Body: &body}} {
				o := s.edited("a", message.Patch{Move: &message.Move{At: s.at(to), OnConflict: message.OnConflictShift}, Edit: e})
				require.Equal(s, []any{message.Moved, true, s.at(noon + 2*time.Minute)}, []any{o.Outcome, o.Shifted, o.SendAt.Time}, "%+v", o)
			}
		}
		require.Equal(s, "accepted; changed content", s.words())

		// The rules refuse it, and the throttle has room.
		s.cancelled("second")
		s.moved("a", noon+3*time.Minute)
		other := s.message("other", noon+2*time.Minute+30*time.Second)
		other.User, other.Category = "bob", "marketing"
		s.accepted(other, s.message("plain", noon+90*time.Second))
		refused, err := s.Move(s.Context(), "alice", "a", s.at(noon+time.Minute+10*time.Second))
		require.NoError(s, err)
		require.Equal(s, []any{fault.CodeSendLimit, s.at(noon + 3*time.Minute)}, []any{refused.Code, refused.NextFreeAt.Time},
			"12:02 is full for the throttle")
		s.requireThrottled(map[string]int{"12:00": 1, "12:02": 1, "12:03": 1})
	})
}

// A shift under a throttle ends before the expiry that a change sets, not the former one.
func TestAShiftUnderAThrottleWithAChangedExpiry(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/minute")
		noon := 12 * time.Hour
		m := s.ad("2", 11*time.Hour)
		m.ExpiresAt = s.at(noon + 30*time.Second)
		s.accepted(s.ad("1", noon), m)
		shift := message.Move{At: s.at(noon), OnConflict: message.OnConflictShift}
		for _, row := range []struct {
			expires time.Time // zero: as it is
			want    string
			at      time.Duration
		}{
			{time.Time{}, message.Refused, noon},
			{s.at(noon + time.Minute), message.Refused, noon},
			{s.at(noon + 2*time.Minute), message.Moved, noon + time.Minute},
		} {
			p := message.Patch{Move: &shift}
			if !row.expires.IsZero() {
				p.Edit.ExpiresAt = &row.expires
			}
			o, err := s.Change(s.Context(), "user-2", "2", p)
			require.NoError(s, err)
			require.Equal(s, []any{row.want, s.at(row.at)}, []any{o.Outcome, o.SendAt.Time}, "%+v", o)
		}
	})
}

// A shift goes on from the throttle's free minutes to the user's and back, as often as it
// takes, and says the same as a check.
func TestAShiftGoesOnUntilBothAreFree(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/minute", "1/minute", "500/hour")
		const n = 30
		noon := 12 * time.Hour
		for i := range n { // even minutes are full, and alice has a message in odd ones
			at := noon + time.Duration(i)*2*time.Minute
			s.accepted(s.ad(strconv.Itoa(i), at))
			if i < n-1 {
				s.accepted(s.message(strconv.Itoa(i), at+time.Minute+30*time.Second))
			}
		}
		m := s.ad("shifted", noon)
		m.User, m.OnConflict = "alice", message.OnConflictShift
		checked, err := s.Check(s.Context(), m)
		require.NoError(s, err)
		bounded := m
		bounded.ID, bounded.ShiftUntil = "bounded", s.at(noon+30*time.Minute)
		o := s.submit(bounded)
		require.Equal(s, fault.CodeThrottled, o.Code, "%+v", o)
		free := s.at(noon + (2*n-1)*time.Minute)
		require.Equal(s, free, o.NextFreeAt.Time)
		o = s.submit(m)
		require.Equal(s, message.Accepted, o.Outcome, "%+v", o)
		require.Equal(s, free, o.SendAt.Time)
		require.Equal(s, s.at(noon), o.RequestedAt.Time)
		require.True(s, o.Shifted)
		require.Equal(s, checked, o)
	})
}

// A rule that is broken names times at which the throttle has messages left.
func TestARefusalNamesTimesThatAThrottleHas(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("2/minute", "1/minute")
		noon := 12 * time.Hour
		first := s.message("first", noon+30*time.Second)
		s.accepted(first)
		for i, minutes := range []int{-1, -1, 1, 1, 2, 2} {
			s.accepted(s.ad(strconv.Itoa(i), noon+time.Duration(minutes)*time.Minute))
		}
		m := s.ad("ad", noon+30*time.Second)
		m.User = "alice"
		o := s.submit(m)
		require.Equal(s, fault.CodeSendLimit, o.Code)
		require.Equal(s, s.at(noon+3*time.Minute), o.NextFreeAt.Time)
		require.Equal(s, s.at(noon-time.Minute-time.Millisecond), o.PreviousFreeAt.Time, "11:59 is full")
		checked, err := s.Check(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, o, checked)
		s.requireThrottled(map[string]int{"11:59": 2, "12:01": 2, "12:02": 2})
	})
}

// With a spread, a herd that shifts out of quiet hours is not at their end. A throttle moves some of
// it on. Those that no throttle limits get their own delay, which a dry run shows.
func TestAHerdOutOfQuietHoursIsSpread(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) {
			p.QuietHours, p.OnConflict, p.ShiftSpread = quiet(s, "22:00-08:00"), policy.Shift, 10*time.Minute
			p.Categories = map[string]policy.CategoryRules{"marketing": throttleOf(s, "4/minute"), "news": {Rules: rulesOf(s, "20/calendar_day")}}
		})
		minutes := make(map[time.Duration]int)
		for i := range 36 {
			m := s.ad(strconv.Itoa(i), 7*time.Hour)
			own := m
			own.Category = "news"
			dry, err := s.Check(s.Context(), own)
			require.NoError(s, err)
			o := s.submit(m)
			after := o.SendAt.Sub(s.at(8 * time.Hour))
			require.True(s, o.Shifted && after >= 0 && after < 20*time.Minute, "%+v", o)
			require.False(s, o.SendAt.Before(dry.SendAt.Time), "%v %v", o.SendAt, dry.SendAt)
			minutes[after.Truncate(time.Minute)]++
		}
		require.GreaterOrEqual(s, len(minutes), 9)
		for minute, n := range minutes {
			require.LessOrEqual(s, n, 4, "%v", minute)
		}
	})
}
