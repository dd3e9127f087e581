package integration_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
)

// crashAccount is charged for some of the messages.
const crashAccount = "acme"

// held counts the charges of the account that are not yet settled.
func (s crashStore) held(t *testing.T) int {
	t.Helper()
	n, err := s.client.ZCard(t.Context(), s.keys.Holds(crashAccount)).Result()
	require.NoError(t, err)
	return int(n)
}

// requireCharges requires that the account is charged for exactly what was accepted and
// not cancelled: for each attempt that a record names and that charged an hour and a
// day. A cancel's attempt charges nothing.
func (s crashStore) requireCharges(t *testing.T, users map[string]userState) {
	t.Helper()
	const random = 12 // characters at the beginning of an attempt
	charged := make(map[string]int)
	for _, u := range users {
		for _, record := range u.records {
			words := strings.Fields(record["y"])
			if len(words) == 0 {
				continue
			}
			for _, attempt := range words[1:] {
				if len(attempt) <= random {
					continue
				}
				hour, day, _ := strings.Cut(attempt[random+1:], "-")
				charged[s.keys.Charged(crashAccount, "h", ofBase36(t, hour))]++
				charged[s.keys.Charged(crashAccount, "d", ofBase36(t, day))]++
				charged[s.keys.Charged(crashAccount, "s", ofBase36(t, day))]++
			}
		}
	}
	found := make(map[string]int)
	for _, key := range s.match(t, s.keys.Prefix()+":{p*}:q:*") {
		var err error
		found[key], err = s.client.Get(t.Context(), key).Int()
		require.NoError(t, err)
	}
	require.Equal(t, charged, found, "what the account is charged, and what was accepted")
}

// ofBase36 parses a time in seconds as in attempts.
func ofBase36(t *testing.T, text string) time.Time {
	t.Helper()
	seconds, err := strconv.ParseInt(text, 36, 64)
	require.NoError(t, err)
	return time.Unix(seconds, 0)
}

// leaveHold leaves the hold of a submitter that has died, for a worker to settle.
func (r *crashRound) leaveHold() {
	r.Helper()
	charges, err := quota.New(r.store.client, quota.Options{Prefix: r.base.Prefix, LookAfter: crashLookAfter})
	require.NoError(r, err)
	charge, err := charges.Hold(r.Context(), quota.Request{
		Account: accounts.Account{Name: crashAccount}, User: "dora", ID: "lost", At: time.Now().Add(time.Hour),
	})
	require.NoError(r, err)
	require.True(r, charge.Allowed)
}
