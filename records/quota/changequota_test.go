package quota_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/quota"
)

// quoted is a story whose account and tier are stored.
func quoted(t *testing.T) (*chargeStory, *accounts.Accounts) {
	t.Helper()
	s := newChargeStory(t)
	directory, err := accounts.New(s.client, "")
	require.NoError(t, err)
	s.tier = accounts.Tier{Name: "small", MessagesPerDay: 100}
	require.NoError(t, directory.SetTier(t.Context(), s.tier))
	s.account.Tier = "small"
	_, err = directory.Create(t.Context(), s.account)
	require.NoError(t, err)
	return s, directory
}

// charged charges messages of a day, and settles the charges.
func (s *chargeStory) charged(from, until int, at time.Time) {
	s.Helper()
	for i := from; i < until; i++ {
		charge := s.hold(strconv.Itoa(i)+at.Format("-02"), at)
		require.True(s, charge.Allowed)
		_, err := s.charges.Settle(s.Context(), time.Time{}, quota.Settlement{Account: "acme", Attempt: charge.Hold.Attempt, Made: true})
		require.NoError(s, err)
	}
}

// raised are the thresholds in the outbox, with the quotas of those that came anew.
func (s *chargeStory) raised(day string) []string {
	s.Helper()
	outbox, err := notices.New(s.client, notices.Options{})
	require.NoError(s, err)
	due, _, err := outbox.Due(s.Context(), s.now.AddDate(2, 0, 0), 100)
	require.NoError(s, err)
	found := []string{}
	for _, d := range due {
		n, ok := notices.ParseID(d.ID)
		require.True(s, ok, d.ID)
		require.Equal(s, "acme", n.Subject)
		if n.Since.Format(time.DateOnly) != day {
			continue
		}
		text := strconv.Itoa(n.Threshold)
		if n.Raised > 0 {
			text += " of " + strconv.FormatInt(n.Raised, 10)
		}
		found = append(found, text)
	}
	slices.Sort(found)
	return found
}

// A lower quota alerts at once, today and on later days. A higher one alerts anew.
func TestAChangedQuotaAlerts(t *testing.T) {
	t.Parallel()
	s, directory := quoted(t)
	const today, later = "2026-11-22", "2026-11-25"
	s.charged(0, 60, s.now.Add(time.Hour))
	s.charged(0, 45, s.now.AddDate(0, 0, 3))
	require.Empty(t, s.raised(today))
	set := func(perDay int64) {
		s.tier.MessagesPerDay = perDay
		for range 2 { // a repeated call raises nothing
			require.NoError(t, s.charges.SetTier(t.Context(), directory, s.tier))
		}
	}
	set(50)
	require.Equal(t, []string{"100"}, s.raised(today))
	require.Equal(t, []string{"80"}, s.raised(later))
	set(200)
	require.Equal(t, []string{"100"}, s.raised(today), "30 % of the new quota")
	s.charged(60, 165, s.now.Add(time.Hour))
	require.Equal(t, []string{"100", "80 of 200"}, s.raised(today))
	s.charged(165, 200, s.now.Add(time.Hour))
	require.Equal(t, []string{"100", "100 of 200", "80 of 200"}, s.raised(today))
	require.Equal(t, []string{"80"}, s.raised(later))
	set(240)
	require.Contains(t, s.raised(today), "80 of 240", "83 % of it")
	set(0)
	require.Len(t, s.raised(today), 4)
	set(100)
	require.Len(t, s.raised(today), 5, "no limit, and a limit again")
}

// Another tier is another quota.
func TestAnotherTierAlerts(t *testing.T) {
	t.Parallel()
	s, directory := quoted(t)
	s.charged(0, 60, s.now.Add(time.Hour))
	require.NoError(t, directory.SetTier(t.Context(), accounts.Tier{Name: "tiny", MessagesPerDay: 70}))
	tiny, contact := "tiny", "other@example.com"
	_, err := s.charges.SetAccount(t.Context(), directory, "acme", accounts.Change{Contact: &contact})
	require.NoError(t, err)
	require.Empty(t, s.raised("2026-11-22"))
	account, err := s.charges.SetAccount(t.Context(), directory, "acme", accounts.Change{Tier: &tiny})
	require.NoError(t, err)
	require.Equal(t, "tiny", account.Tier)
	require.Equal(t, []string{"80"}, s.raised("2026-11-22"))
}
