package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// inWindow returns a message for a window after the begin of the story.
func (s *story) inWindow(id string, from, until time.Duration, prefer policy.Prefer) message.Message {
	m := s.message(id, 0)
	m.SendAt, m.Window = time.Time{}, &message.Window{From: s.at(from), Until: s.at(until), Prefer: prefer}
	return m
}

// A window gets the preferred time, in a dry run, a submit and a batch alike, with and without a
// quota. A repeated submit gets the first answer, although the rules and the user's zone have changed.
func TestAMessageGetsTheTimeOfAWindowThatItPrefers(t *testing.T) {
	for _, account := range []string{"", "acme"} {
		t.Run(account, func(t *testing.T) {
			tell(t, func(s *story) {
				if account != "" {
					s.charges(account, accounts.Tier{MessagesPerHour: 3}, "UTC")
				}
				for id, at := range map[string]time.Duration{"x": 3 * time.Hour, "y": 4*time.Hour - time.Millisecond} {
					other := s.message(id, at)
					other.Account = account
					o, err := s.Submit(s.Context(), other)
					require.NoError(s, err)
					require.Equal(s, message.Accepted, o.Outcome, o.Detail)
				}
				const hour, minute, ms = time.Hour, time.Minute, time.Millisecond
				for _, row := range []struct {
					prefer     policy.Prefer
					near, want time.Duration
				}{
					{policy.PreferEarliest, 0, 3*hour + minute},
					{policy.PreferLatest, 0, 4*hour - ms - minute},
					{policy.PreferNearest, 3*hour + minute - 2*ms, 3*hour + minute},
					{policy.PreferNearest, 3*hour + 5*minute, 3*hour + 5*minute},
				} {
					m := s.inWindow("m", 3*hour, 4*hour, row.prefer)
					m.Account = account
					if row.near != 0 {
						m.SendAt = s.at(row.near)
					}
					checked, err := s.Check(s.Context(), m)
					require.NoError(s, err)
					many, err := s.SubmitMany(s.Context(), []message.Message{m, s.message("far", 50*hour)})
					require.NoError(s, err)
					o := many[0]
					require.Equal(s, []any{message.Accepted, s.at(row.want), false}, []any{o.Outcome, o.SendAt.Time, o.Shifted}, "%s: %s", row.prefer, o.Detail)
					require.Equal(s, []any{o.Outcome, o.SendAt, o.Window}, []any{checked.Outcome, checked.SendAt, checked.Window}, checked.Detail)
					require.Equal(s, []any{row.prefer, message.Time{Time: s.at(3 * hour)}, message.Time{Time: s.at(4 * hour)}},
						[]any{o.Window.Prefer, o.Window.From, o.Window.Until})
					again, err := s.Submit(s.Context(), m)
					require.NoError(s, err)
					require.Equal(s, []any{true, o.SendAt, o.Window}, []any{again.Replayed, again.SendAt, again.Window})
					status, _, err := s.Status(s.Context(), "alice", "m")
					require.NoError(s, err)
					require.Equal(s, []any{o.Window, false, true}, []any{status.Window, status.Shifted, status.RequestedAt.IsZero()})
					m.Window.Until = s.at(5 * hour)
					other, err := s.Submit(s.Context(), m)
					require.NoError(s, err)
					require.Equal(s, fault.CodeIDReused, other.Code, "other words are another request")
					_, err = s.Cancel(s.Context(), "alice", "m")
					require.NoError(s, err)
				}
			})
		})
	}
}

// A window may have local ends, and begin now. What was asked is what a repeated submit is compared by.
func TestAWindowInTheUsersZone(t *testing.T) {
	tell(t, func(s *story) {
		s.set("alice", policy.UserSettings{TimeZone: "Asia/Tokyo"})
		m := s.inWindow("m", 0, 0, "")
		m.Window = &message.Window{}
		m.Local = &message.LocalTimes{Until: message.LocalTime{Local: "2000-01-01T18:00:00", Zone: message.ZoneUser}}
		o, err := s.newSubmitter(submit.Options{}).Submit(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, []any{message.Accepted, s.at(0), s.at(9 * time.Hour)}, []any{o.Outcome, o.Window.From.Time, o.Window.Until.Time}, o.Detail)
		s.set("alice", policy.UserSettings{TimeZone: "Europe/Berlin"})
		time.Sleep(time.Minute)
		again, err := s.Submit(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, []any{true, o.SendAt, o.Window}, []any{again.Replayed, again.SendAt, again.Window}, again.Detail)
	})
}

// A refusal says what is in the way at both ends, and names free times outside the window.
func TestAWindowWithoutAFreeTime(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) {
			hours, err := policy.ParseQuietHours("22:00-08:00")
			require.NoError(s, err)
			p.Rules, p.QuietHours = rulesOf(s, "1/hour"), hours
		})
		o, err := s.Submit(s.Context(), s.message("x", 21*time.Hour+30*time.Minute))
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome, o.Detail)
		for _, prefer := range []policy.Prefer{policy.PreferEarliest, policy.PreferLatest, policy.PreferSpread} {
			o, err = s.Submit(s.Context(), s.inWindow("m", 21*time.Hour, 23*time.Hour, prefer))
			require.NoError(s, err)
			require.Equal(s, []any{message.Refused, fault.CodeSendLimit, fault.CodeQuietHours}, []any{o.Outcome, o.Code, o.WindowEnd.Code})
			require.Equal(s, []time.Time{s.at(21 * time.Hour), s.at(23*time.Hour - time.Millisecond), s.at(32 * time.Hour), s.at(20*time.Hour + 30*time.Minute)},
				[]time.Time{o.SendAt.Time, o.WindowEnd.SendAt.Time, o.NextFreeAt.Time, o.PreviousFreeAt.Time})
			require.Equal(s, "no time of the window is free; at its begin, 21:00:00: alice already has a message at 21:30:00, within 1 hour; "+
				"at its end, 22:59:59.999: 22:59:59.999 is in the quiet hours of alice (22:00-08:00); the next free time is 2000-01-02 08:00:00", o.Detail)
		}
		time.Sleep(10 * time.Second)
		for _, row := range []struct {
			from, until time.Duration
			code        fault.Code
			says        string
		}{
			{0, 9 * time.Second, fault.CodeInPast, "the window has passed: it ended at 00:00:09, and it is 2000-01-01T00:00:10.000Z now; use a later one"},
			{900 * 24 * time.Hour, 901 * 24 * time.Hour, fault.CodeTooFarAhead, "the window begins at 2002-06-19 00:00:00, which is too far ahead: the latest send time is "},
		} {
			o, err = s.Submit(s.Context(), s.inWindow("m", row.from, row.until, ""))
			require.NoError(s, err)
			require.Equal(s, []any{message.Invalid, row.code, "window"}, []any{o.Outcome, o.Code, o.Field}, o.Detail)
			require.Contains(s, o.Detail, row.says)
		}
	})
}

// Many messages with the same window fill it evenly, and the expiry ends it.
func TestASpreadFillsAWindow(t *testing.T) {
	tell(t, func(s *story) {
		var before int
		for i := range 200 {
			m := s.inWindow("m", time.Hour, 9*time.Hour, policy.PreferSpread)
			m.User, m.ExpiresAt = "user-"+string(rune('a'+i%26))+string(rune('a'+i/26)), s.at(3*time.Hour)
			o, err := s.Submit(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, message.Accepted, o.Outcome, o.Detail)
			require.False(s, o.SendAt.Before(s.at(time.Hour)) || !o.SendAt.Before(s.at(3*time.Hour)), o.SendAt)
			if o.SendAt.Before(s.at(2 * time.Hour)) {
				before++
			}
		}
		require.InDelta(s, 100, before, 35)
	})
}

// The best time is drawn by the weights of the user's hours, also the first time that a program learns
// them. A repeated submit gets the first answer, although the weights have changed.
func TestABestTimeOfAWindow(t *testing.T) {
	tell(t, func(s *story) {
		hour := func(of int) policy.UserSettings { // the story begins on a Saturday
			best := make(policy.BestHours, policy.HoursOfWeek)
			best[5*24+of] = 7
			return policy.UserSettings{TimeZone: "Asia/Tokyo", BestHours: best}
		}
		s.set("alice", hour(12))
		m := s.inWindow("m", time.Hour, 9*time.Hour, policy.PreferBest)
		submitter := s.newSubmitter(submit.Options{}) // knows no settings
		o, err := submitter.Submit(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome, o.Detail)
		require.Equal(s, s.at(3*time.Hour), o.SendAt.Truncate(time.Hour))
		s.set("alice", hour(15))
		again, err := submitter.Submit(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, []any{true, o.SendAt, policy.PreferBest}, []any{again.Replayed, again.SendAt, again.Window.Prefer})
		m.ID = "other"
		for _, decide := range []func() (message.Outcome, error){
			func() (message.Outcome, error) { return s.newSubmitter(submit.Options{}).Check(s.Context(), m) },
			func() (message.Outcome, error) { return submitter.Submit(s.Context(), m) },
		} {
			o, err = decide()
			require.NoError(s, err)
			require.Equal(s, s.at(6*time.Hour), o.SendAt.Truncate(time.Hour), o.Detail)
		}
	})
}
