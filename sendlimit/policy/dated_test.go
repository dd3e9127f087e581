package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func datedDocument(changes ...policy.ChangeDocument) policy.Document {
	return policy.Document{Name: "p", TimeZone: "Europe/Berlin", Rules: []string{"5/hour"}, QuietHours: []string{"22:00-08:00"}, Changes: changes}
}

// Dates begin at midnight in the policy's zone. A change keeps what it does not name.
func TestDatedChangesOfADocument(t *testing.T) {
	t.Parallel()
	d := datedDocument(
		policy.ChangeDocument{From: "2027-11-25", Until: "2027-12-01", Rules: []string{"20/calendar_day"}, QuietHours: []string{}},
		policy.ChangeDocument{From: "2028-01-01T12:30:00Z", Only: []string{"09:00-18:00"}, Categories: map[string]policy.CategoryDocument{"otp": {Exempt: true}}},
	)
	p, err := d.Policy()
	require.NoError(t, err)
	require.Equal(t, d, p.Document())
	require.Equal(t, time.Date(2027, 11, 24, 23, 0, 0, 0, time.UTC), p.Changes[0].From)
	require.Equal(t, "5/hour (Europe/Berlin), quiet 22:00-08:00; from 2027-11-25 until 2027-12-01: 20/calendar_day;"+
		" from 2028-01-01T12:30:00Z: 5/hour, otp exempt, quiet 22:00-08:00, only 09:00-18:00", p.String())
	require.Equal(t, 26*time.Hour, p.LargestWindow())
	other, err := d.Policy()
	require.NoError(t, err)
	require.True(t, p.Equal(other))
	other.Changes[0].Until = other.Changes[0].Until.Add(time.Second)
	require.False(t, p.Equal(other))
	require.True(t, p.RefusesCategory("news"))
	require.False(t, p.RefusesCategory("otp"), "a change names it")
}

func TestDatedChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	rules := []string{"1/hour"}
	for says, changes := range map[string][]policy.ChangeDocument{
		`changes.1.from "soon" is not allowed: it takes a date such as 2027-01-01, or a time`: {{From: "soon"}},
		"changes.1 needs from, until or both":                                                 {{Rules: rules}},
		`changes.1.until "2027-01-01T23:00:00Z" is not allowed: it takes a time after from`:   {{From: "2027-01-02", Until: "2027-01-02"}},
		"changes.1 and changes.2 apply at the same time":                                      {{From: "2027-01-02"}, {From: "2027-03-01", Until: "2027-04-01"}},
		`changes.2.rules "x" is not allowed`:                                                  {{From: "2027-01-02", Until: "2027-01-03"}, {From: "2027-03-01", Rules: []string{"x"}}},
		"in changes.1: a policy needs at least one rule":                                      {{From: "2027-01-02", Rules: []string{}}},
		"in changes.1: rules has 1/hour and 2/hour, which":                                    {{From: "2027-01-02", Rules: []string{"1/hour", "2/60m"}}},
		"in changes.1: only 22:00-07:00 is all in the quiet hours 22:00-08:00":                {{From: "2027-01-02", Only: []string{"22:00-07:00"}}},
		"in changes.1: categories.a needs at least one rule":                                  {{From: "2027-01-02", Categories: map[string]policy.CategoryDocument{"a": {}}}},
		"changes.1.categories.a has a throttle: only the policy's own":                        {{From: "2027-01-02", Categories: map[string]policy.CategoryDocument{"a": {Throttle: "5/minute"}}}},
		"there are 21 changes: a policy has at most 20":                                       make([]policy.ChangeDocument, 21),
		`changes.1.quiet_hours "late" is not allowed: it takes hours such as 22:00-08:00`:     {{From: "2027-01-02", QuietHours: []string{"late"}}},
	} {
		_, err := datedDocument(changes...).Policy()
		require.ErrorContains(t, err, says)
	}
}
