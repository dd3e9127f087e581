package tasks_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notice"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

// The mail server is away while both thresholds are reached: only the higher one is told.
// The mail about 80 % could come after the one about 100 %.
func TestALowerThresholdIsNotToldAfterAHigherOne(t *testing.T) {
	tell(t, func(s *story) {
		mail := announcer{answers: []notifier.Result{
			{Status: notifier.Retry, Reason: notifier.ReasonUnreachable, Err: errors.New("connection refused")},
			{Status: notifier.Delivered},
		}}
		s.contactOf("alice", "alice@example.com")
		s.work(announces(&mail))
		for i := range 5 {
			s.accepted(s.message(strconv.Itoa(i), time.Duration(i+1)*time.Hour))
			if i == 3 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(30 * time.Second)
		told := []int{}
		for _, said := range mail.all() {
			told = append(told, said.notice.Threshold)
		}
		require.Equal(s, []int{80, 100}, told, "80 failed, and is not tried again")
		require.Zero(s, s.waitingNotices())
		require.Empty(s, s.deadNotices())
		keys := s.keys()
		lower := keys.Notice("alice", "user_quota/946684800000/80/alice")
		require.Equal(s, notices.ReasonSuperseded, s.client.HGet(s.Context(), lower, keyspace.NoticeReason).Val())
	}, "5/calendar_day")
}

func (s *story) setEvent(e counters.EventLimits) {
	s.Helper()
	events := counters.NewEvents(s.client, keyspace.KeysUnder(""))
	require.NoError(s, events.Set(s.Context(), e))
}

func (s *story) countEvent(key string, n int64) {
	s.Helper()
	limits := counters.New(s.client, keyspace.KeysUnder(""))
	_, err := limits.Count(s.Context(), counters.Request{Event: "submit", Key: key, N: n, At: time.Now()})
	require.NoError(s, err)
}

// The alerts of an event go to whom it names when they are sent.
func TestAlertsOfAnEventAreDelivered(t *testing.T) {
	tell(t, func(s *story) {
		var mail announcer
		event := counters.EventLimits{
			Name: "submit", PerDay: 5, TimeZone: "Europe/Berlin", AlertAt: []int{80, 100}, AlertTo: "ops@example.com",
		}
		s.setEvent(event)
		s.work(announces(&mail), sweeps(time.Second))
		s.countEvent("a/b", 4)
		time.Sleep(3 * time.Second)
		day := s.began.Add(-time.Hour) // midnight in Berlin
		require.Equal(s, "2000-01-01T00:00:00Z", s.began.UTC().Format(time.RFC3339))
		all := mail.all()
		require.Len(s, all, 1)
		require.Equal(s, said{"ops@example.com", notifier.Notice{
			ID:   "event_limit/" + strconv.FormatInt(day.UnixMilli(), 10) + "/80@5/submit/a/b",
			Kind: notifier.NoticeEventLimit, Subject: "submit/a/b", Threshold: 80, Used: 4, Limit: 5,
			Day: "2000-01-01", TimeZone: "Europe/Berlin", Rule: "5/calendar_day",
			Event: "submit", Key: "a/b", Since: "2000-01-01T00:00:00+01:00", Until: "2000-01-02T00:00:00+01:00",
		}, all[0].at}, all[0])

		event.AlertTo = "https://example.com/alerts"
		s.setEvent(event)
		s.countEvent("a/b", 1)
		time.Sleep(3 * time.Second)
		all = mail.all()
		require.Len(s, all, 2)
		require.Equal(s, "https://example.com/alerts", all[1].to)
		require.Equal(s, 100, all[1].notice.Threshold)
		require.Zero(s, s.waitingNotices())
		require.Empty(s, s.deadNotices())
	}, "5/calendar_day")
}

// Nobody receives the alert of an event that has none when it is to be sent.
func TestAnAlertOfAnEventThatWasRemoved(t *testing.T) {
	tell(t, func(s *story) {
		var mail announcer
		s.setEvent(counters.EventLimits{Name: "submit", PerHour: 5, AlertAt: []int{80}, AlertTo: "ops@example.com"})
		s.countEvent("acme", 5)
		require.Equal(s, 1, s.waitingNotices())
		events := counters.NewEvents(s.client, keyspace.KeysUnder(""))
		removed, err := events.Remove(s.Context(), "submit")
		require.NoError(s, err)
		require.True(s, removed)
		s.work(announces(&mail), sweeps(time.Second))
		time.Sleep(3 * time.Second)
		require.Empty(s, mail.all())
		require.Zero(s, s.waitingNotices())
	}, "5/calendar_day")
}

// The contact of an account is told of each change of its callback, and of nothing that is as it was.
func TestAnAccountIsToldOfItsCallback(t *testing.T) {
	tell(t, func(s *story) {
		var mail announcer
		s.account(accounts.Account{Name: "acme", Contact: "ops@acme.example", TimeZone: "Europe/Berlin"})
		s.work(announces(&mail), sweeps(time.Second))
		registry, err := callbacks.NewRegistry(s.client, events.Options{}, contact.Callbacks{AllowInternal: true})
		require.NoError(s, err)
		set := func(host string) error {
			_, err := registry.Set(s.Context(), "acme", "https://"+host+"/secret", "")
			return err
		}
		for _, row := range []struct {
			change     func() error
			says, host string
		}{
			{func() error { return set("127.0.0.1") }, notice.CallbackSet, "127.0.0.1"},
			{func() error { return set("127.0.0.1") }, "", ""},
			{func() error { return set("127.0.0.2:1") }, notice.CallbackSet, "127.0.0.2:1"},
			{func() error { _, err := registry.Rotate(s.Context(), "acme", time.Hour); return err }, notice.CallbackSecret, "127.0.0.2:1"},
			{func() error { return registry.Remove(s.Context(), "acme") }, notice.CallbackRemoved, ""},
			{func() error { return registry.Remove(s.Context(), "acme") }, "", ""},
		} {
			before := len(mail.all())
			require.NoError(s, row.change())
			time.Sleep(3 * time.Second)
			told := mail.all()[before:]
			if row.says == "" {
				require.Empty(s, told)
				continue
			}
			require.Len(s, told, 1)
			require.Equal(s, []string{"ops@acme.example", "acme", row.says, row.host},
				[]string{told[0].to, told[0].notice.Subject, told[0].notice.Change, told[0].notice.Host})
			require.Regexp(s, `^2000-01-01T01:00:\d\d\+01:00$`, told[0].notice.Since)
		}
	}, "5/calendar_day")
}
