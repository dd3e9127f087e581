package tasks_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// unreadable gives a user settings as only a newer program can read them.
func (s *story) unreadable(user string) {
	s.Helper()
	keys, err := keyspace.NewKeys("")
	require.NoError(s, err)
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
		settings, err := settings.NewUsers(s.client, "")
		require.NoError(s, err)
		_, err = settings.Clear(s.Context(), "alice")
		require.NoError(s, err)
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
		require.Equal(s, []string{"", "1/hour"}, s.rehearses(rules.WhatIf{Policy: &lax}, first, second))
	})
}
