package tasks_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// policies is the store's.
func (s *story) policies() *settings.Policies {
	s.Helper()
	store := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
	return store
}

// policy puts the default policy, with what change does to it, into the store.
func (s *story) policy(change func(*policy.Policy)) {
	s.Helper()
	p := policy.Default()
	change(&p)
	require.NoError(s, s.policies().Apply(s.Context(), p))
}

// set gives a user settings, as another process does.
func (s *story) set(user string, own policy.UserSettings) {
	s.Helper()
	users := settings.NewUsers(s.newClient(), keyspace.KeysUnder(""))
	require.NoError(s, users.Set(s.Context(), user, own))
}

// quiet are quiet hours as a policy spells them.
func quiet(tb testing.TB, lines ...string) policy.WeekHours {
	tb.Helper()
	hours, err := policy.ParseQuietHours(lines...)
	require.NoError(tb, err)
	return hours
}

// rulesOf are rules as they are written.
func rulesOf(tb testing.TB, rules ...string) []policy.Rule {
	tb.Helper()
	p, err := policy.Parse("some", "", rules...)
	require.NoError(tb, err)
	return p.Rules
}

// A worker that has nothing to do follows the policies too, and says so, once for
// all in its process.
func TestPoliciesAreFollowedByAnIdleWorker(t *testing.T) {
	tell(t, func(s *story) {
		log := new(bytes.Buffer)
		logger := slog.New(slog.NewJSONHandler(log, nil))
		s.shared.Logger = logger
		b := taskstest.Open(s, s.client, s.shared)
		s.Submitter = s.newSubmitterOn(b, submit.Options{})
		s.accepted(s.message("a", time.Hour))
		stop := s.workOn(b)
		s.until(10 * time.Second)
		s.policy(func(p *policy.Policy) {
			p.Rules, p.AlertTo = rulesOf(s, "2/minute"), "https://alerts.example/hook/s3cret"
		})
		s.policy(func(p *policy.Policy) { p.Name = "vip" })
		s.until(12 * time.Second)
		changes := func() []string {
			var changes []string
			for line := range strings.Lines(log.String()) {
				var said struct {
					Message string `json:"msg"`
					Level   string `json:"level"`
					Policy  string `json:"policy"`
					Before  int    `json:"version_before"`
					Version int    `json:"version"`
					Rules   string `json:"rules"`
				}
				require.NoError(s, json.Unmarshal([]byte(line), &said))
				if said.Message == "the policy changed" {
					text, err := json.Marshal([]any{said.Level, said.Policy, said.Before, said.Version, said.Rules})
					require.NoError(s, err)
					changes = append(changes, string(text))
				}
			}
			return changes
		}
		want := []string{
			`["INFO","default",1,2,"2/minute, alerts to https://alerts.example/…"]`,
			`["INFO","vip",0,1,"1/minute, 5/hour, 10/calendar_day"]`,
		}
		require.Equal(s, want, changes())
		require.NotContains(s, log.String(), "s3cret")
		s.accepted(s.message("b", time.Hour))
		s.until(20 * time.Second)
		require.Equal(s, want, changes(), "a line a change")
		stop()
	})
}

// A store that is away takes no rules from a worker, and gives it those that it
// has got meanwhile.
func TestPoliciesAfterAnOutage(t *testing.T) {
	tell(t, func(s *story) {
		log := new(bytes.Buffer)
		s.shared.Logger = slog.New(slog.NewJSONHandler(log, nil))
		s.work()
		s.accepted(s.message("a", 15*time.Second))
		s.until(5 * time.Second)
		s.network.cut()
		s.until(13 * time.Second)
		s.network.mend()
		s.policy(func(p *policy.Policy) { p.Rules = rulesOf(s, "2/minute") })
		s.until(15*time.Second + 10*time.Millisecond)
		s.delivered("a +15s")
		require.Equal(s, 1, strings.Count(log.String(), "WARN"), "an outage is said once")
		require.Equal(s, 1, strings.Count(log.String(), "Redis does not answer"))
		require.Equal(s, 1, strings.Count(log.String(), "Redis is back"))
		require.Equal(s, 1, strings.Count(log.String(), "the policy changed"))
	})
}

// A policy that a newer program wrote: nothing is judged by what is not understood,
// and what was accepted before goes out.
func TestPolicyOfANewerProgram(t *testing.T) {
	tell(t, func(s *story) {
		log := new(bytes.Buffer)
		s.shared.Logger = slog.New(slog.NewJSONHandler(log, nil))
		s.work()
		s.accepted(s.message("a", 10*time.Second))
		keys := s.keys()
		s.until(5 * time.Second)
		s.server.HSet(keys.Policies(), "default", `{"name":"default","rules":["1/moon"],"version":9}`)
		s.until(7 * time.Second)
		_, err := s.Submit(s.Context(), s.message("b", time.Hour))
		s.away(err, fault.CodeUnavailable)
		require.ErrorContains(s, err, "apply them again, or run the newer program that wrote them")
		s.until(12 * time.Second)
		s.delivered("a +10s")
		require.Equal(s, 1, strings.Count(log.String(), "the policy can't be read"))
	})
}

// A worker that starts on a store with such a policy says so, and one that is gone
// while it runs.
func TestPoliciesThatAreNotThereAreTold(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) { p.Name = "vip" })
		s.policy(func(p *policy.Policy) { p.Name = "gone" })
		keys := s.keys()
		s.server.HSet(keys.Policies(), "vip", `{"name":"vip","rules":["1/moon"],"version":9}`)
		log := new(bytes.Buffer)
		s.shared.Logger = slog.New(slog.NewJSONHandler(log, nil))
		s.work()
		s.until(2 * time.Second)
		require.Equal(s, 1, strings.Count(log.String(), "the policy can't be read"))
		require.NotContains(s, log.String(), "the policy changed")
		require.NoError(s, s.policies().Delete(s.Context(), "gone", settings.AnyVersion))
		s.until(4 * time.Second)
		require.Equal(s, 1, strings.Count(log.String(), "the policy is gone"))
	})
}

// What is set for a user holds from the very next submit on, in every process.
func TestSettingsHoldFromTheNextSubmit(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		require.Equal(s, fault.CodeSendLimit, s.submit(s.message("b", time.Hour+time.Second)).Code)
		s.set("alice", policy.UserSettings{Limits: rulesOf(s, "3/minute")})
		s.accepted(s.message("b", time.Hour+time.Second))
		s.set("alice", policy.UserSettings{Limits: rulesOf(s, "2/minute")})
		o := s.submit(s.message("c", time.Hour+2*time.Second))
		require.Equal(s, "2/minute", o.RefusedBy())

		s.set("alice", policy.UserSettings{Blocked: true})
		o = s.submit(s.message("c", 2*time.Hour))
		require.Equal(s, message.Refused, o.Outcome)
		require.Equal(s, fault.CodeBlocked, o.Code)
		o, err := s.Move(s.Context(), "alice", "a", s.at(2*time.Hour))
		require.NoError(s, err)
		require.Equal(s, fault.CodeBlocked, o.Code)
		s.cancelled("b")
		s.workWhereDue(time.Hour + time.Second)
		s.delivered()
		require.Equal(s, messages.ReasonBlocked, s.status("a").Reason)

		s.set("alice", policy.UserSettings{})
		s.accepted(s.message("c", 2*time.Hour))
	})
}

// A policy made a moment ago, and a user put under it at once: nobody waits until
// it has come round.
func TestSettingsNameAPolicyThatIsNew(t *testing.T) {
	tell(t, func(s *story) {
		dead := s.deadLetters()
		s.accepted(s.message("a", time.Hour))
		for i, name := range []string{"vip", "vip-2", "vip-3", "vip-4", "vip-5"} {
			s.policy(func(p *policy.Policy) { p.Name, p.Rules = name, rulesOf(s, "3/minute", "100/calendar_day") })
			s.set("alice", policy.UserSettings{Policy: name})
			switch i {
			case 0:
				s.accepted(s.message("b", time.Hour+time.Second))
			case 1:
				o, err := s.Check(s.Context(), s.message("c", time.Hour+2*time.Second))
				require.NoError(s, err)
				require.Equal(s, message.Accepted, o.Outcome)
			case 2:
				s.moved("b", time.Hour+2*time.Second)
			case 3:
				usage, err := s.Usage(s.Context(), sendlimit.UsageRequest{User: "alice", At: s.at(time.Hour)})
				require.NoError(s, err)
				require.Equal(s, "3/minute", usage.Rules[0].Rule.String())
			case 4:
				free, err := s.NextFree(s.Context(), sendlimit.NextFreeRequest{User: "alice", From: s.at(time.Hour), Count: 1})
				require.NoError(s, err)
				require.Equal(s, []time.Time{s.at(time.Hour)}, free)
			}
		}
		o, err := dead.Retry(s.Context(), "alice", "a")
		require.NoError(s, err)
		require.Equal(s, fault.CodeNotFound, o.Code, "it waits to be sent")
	})
}

// Settings that name a policy which there is not: an error, as the store is not
// as it should be, that says what to do.
func TestSettingsNameNoPolicy(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", 10*time.Second), s.message("b", 20*time.Second))
		keys := s.keys()
		s.server.HSet(keys.Settings("alice"), "policy", "gone", "v", "1")
		_, err := s.Submit(s.Context(), s.message("c", time.Hour))
		s.away(err, fault.CodeUnavailable)
		require.ErrorContains(s, err, `"gone"`)
		require.ErrorContains(s, err, "apply it, or give the user another policy")
		require.NotContains(s, err.Error(), "alice", "errors are logged")

		// What is on time needs no rules. What is late waits for them in the queue.
		s.until(15 * time.Second)
		s.work()
		s.until(21 * time.Second)
		s.delivered("b +20s")
		s.policy(func(p *policy.Policy) { p.Name, p.Rules = "gone", rulesOf(s, "1/10s") })
		s.until(50 * time.Second)
		s.inOrder("b", "a")
	}, "1/10s")
}

// unreadable gives a user settings as only a newer program can read them.
func (s *story) unreadable(user string) {
	s.Helper()
	keys := s.keys()
	require.NoError(s, s.client.HSet(s.Context(), keys.Settings(user), "v", "1", "limits", "2/blue_moon").Err())
}

// It is not the message that is wrong.
func TestUnreadableSettingsAreNotTheCallersFault(t *testing.T) {
	tell(t, func(s *story) {
		s.unreadable("alice")
		_, err := s.Submit(s.Context(), s.message("a", time.Minute))
		o := message.OutcomeOf(err)
		require.Equal(s, message.Errored, o.Outcome, "%+v", o)
		require.Equal(s, fault.CodeUnavailable, o.Code)
		require.Contains(s, o.Detail, "the settings of the user in the store can't be read")
	})
}

// What is not judged is not charged for.
func TestNobodyIsChargedUnderUnknownRules(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2, MessagesPerDay: 2}, "")
		s.unreadable("user-bob")
		s.set("user-carl", policy.UserSettings{Policy: "nobody-has-it"})
		for _, user := range []string{"bob", "carl", "bob", "carl"} {
			_, err := s.Submit(s.Context(), s.paid(user, time.Hour))
			require.True(s, rules.UnknownRules(err), "%v", err)
		}
		s.accepted(s.paid("a", time.Hour), s.paid("b", time.Hour))
		s.requireCharges(nil, map[string][]string{"user-a": {"a"}, "user-b": {"b"}})

		// A change neither.
		s.unreadable("user-a")
		for range 3 {
			_, err := s.Move(s.Context(), "user-a", "a", s.at(30*time.Hour))
			require.True(s, rules.UnknownRules(err), "%v", err)
		}
		s.requireCharges(nil, map[string][]string{"user-a": {"a"}, "user-b": {"b"}})
	})
}

// A late message waits for its user's settings, and others don't wait for it.
func TestLateMessageWaitsForSettingsThatCanBeRead(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", 10*time.Second))
		s.unreadable("alice")
		s.until(15 * time.Second)
		log := new(bytes.Buffer)
		s.shared.Logger = slog.New(slog.NewJSONHandler(log, nil))
		s.work()
		s.until(20 * time.Second)
		s.delivered()
		require.Equal(s, 1, strings.Count(log.String(), "late messages wait until the rules of their users are known"))
		settings := settings.NewUsers(s.client, keyspace.KeysUnder(""))
		require.NoError(s, settings.Clear(s.Context(), "alice"))
		s.until(50 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
	})
}

// Who names the policy that all follow in their settings goes by what stands in for
// it, as all do.
func TestWhatIfOfUsersWhoNameThePolicyOfAll(t *testing.T) {
	tell(t, func(s *story) {
		s.set("bob", policy.UserSettings{Policy: policy.DefaultName})
		lax := policy.Default()
		lax.Rules = rulesOf(s, "1/hour")
		first, second := s.message("a", time.Hour), s.message("b", 2*time.Hour-time.Second)
		first.User, second.User = "bob", "bob"
		require.Equal(s, []string{"", "1/hour"}, s.dryRuns(rules.WhatIf{Policy: &lax}, first, second))
	})
}

// A user is alerted of the limit, the policy and the day that are the user's own.
func TestAlertsGoByTheUsersOwnRules(t *testing.T) {
	tell(t, func(s *story) {
		var mail announcer
		s.policy(func(p *policy.Policy) {
			p.Name, p.UserTimeZone, p.AlertAt = "vip", true, []int{100}
		})
		s.set("alice", policy.UserSettings{
			Policy: "vip", Contact: "alice@example.com", TimeZone: "Asia/Tokyo", Limits: rulesOf(s, "2/calendar_day"),
		})
		// In Tokyo it is 09:00 of 1 January, and the next day begins at 15:00 in UTC.
		s.accepted(s.message("a", 14*time.Hour), s.message("b", 16*time.Hour), s.message("c", 17*time.Hour))
		o := s.submit(s.message("d", 18*time.Hour))
		require.Equal(s, "2/calendar_day", o.RefusedBy())
		require.Equal(s, s.at(15*time.Hour), o.Violations[0].From.Time)
		stop := s.work(announces(&mail))
		time.Sleep(2 * time.Second)
		stop()
		all := mail.all()
		require.Len(s, all, 1)
		require.Equal(s, notifier.Notice{
			ID: all[0].notice.ID, Kind: notifier.NoticeUserQuota, Subject: "alice", Threshold: 100, Used: 2, Limit: 2,
			Day: "2000-01-02", TimeZone: "Asia/Tokyo", Rule: "2/calendar_day", Policy: "vip",
		}, all[0].notice)
	})
}

// What counts for nobody is a message as any other: it is listed, moved, taken
// back, handed out and erased.
func TestMessagesThatDoNotCount(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) {
			p.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true, Uncounted: true}}
		})
		code := func(id string, after time.Duration) message.Message {
			m := s.message(id, after)
			m.Category = "otp"
			return m
		}
		s.accepted(code("1", 10*time.Second), code("2", 10*time.Second), code("3", 10*time.Second), s.message("a", 11*time.Second))
		s.cancelled("2")
		s.moved("3", 12*time.Second)
		listed, _ := s.lists(sendlimit.ListRequest{User: "alice"})
		require.Len(s, listed, 4, "%v", listed)
		require.Equal(s, []string{"1", "a", "3"}, s.places())
		d, err := s.users().Export(s.Context(), "alice", nil)
		require.NoError(s, err)
		require.Len(s, d.Timeline, 1)
		text, err := json.Marshal(d.Uncounted)
		require.NoError(s, err)
		require.JSONEq(s, `[{"id":"1","send_at":"2000-01-01T00:00:10.000Z"},{"id":"3","send_at":"2000-01-01T00:00:12.000Z"}]`, string(text))
		s.workWhereDue(15 * time.Second)
		s.delivered("1 +10s", "a +11s", "3 +12s")
		s.eraseAlice()
		s.nothingLeft()
	})
}
