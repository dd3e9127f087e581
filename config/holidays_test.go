package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
)

func today() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

// calendarOf returns an iCalendar file with events.
func calendarOf(events ...string) string {
	text := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//\r\n"
	for _, event := range events {
		text += "BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:A day\r\n" + strings.ReplaceAll(event, "\n", "\r\n") + "\r\nEND:VEVENT\r\n"
	}
	return text + "END:VCALENDAR\r\n"
}

// policyWith returns what is read of a policy beside a file of holidays, as its list of blackouts.
func policyWith(t *testing.T, holidays, policy string) ([]string, error) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "de.ics"), []byte(holidays), 0o600))
	name := filepath.Join(folder, "policy.yaml")
	require.NoError(t, os.WriteFile(name, []byte("rules: [1/minute]\n"+policy), 0o600))
	p, err := config.ReadPolicy(name, nil, "default", today())
	if calendar, named := p.Calendars["holidays"]; named {
		return calendar.Lines(), err
	}
	return p.Blackouts.Lines(), err
}

// Blackouts are the holidays of an iCalendar file that are not over.
func TestHolidaysOfAFile(t *testing.T) {
	t.Parallel()
	holidays := calendarOf(
		"DTSTART;VALUE=DATE:20271225\nDTEND;VALUE=DATE:20271227\nTRANSP:TRANSPARENT", "DTSTART;VALUE=DATE:20270101\nDTEND;VALUE=DATE:20270102",
		"DTSTART;VALUE=DATE:20251225\nDTEND;VALUE=DATE:20251226", "DTSTART;VALUE=DATE:20261129", "DTSTART;VALUE=DATE:20261128",
		"DTSTART;VALUE=DATE:20200501\nDTEND;VALUE=DATE:20200502\nRRULE:FREQ=YEARLY", "DTSTART;VALUE=DATE:20280101\nSTATUS:CANCELLED",
		"DTSTART;VALUE=DATE:20270101",
	)
	want := []string{"05-01", "2026-11-29", "2027-01-01", "2027-12-25..2027-12-26"}
	for _, policy := range []string{"blackouts: [de.ics]", "calendars: {holidays: [de.ics]}"} {
		got, err := policyWith(t, holidays, policy)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := policyWith(t, holidays, "blackouts: [12-24, de.ics]")
	require.NoError(t, err)
	require.Equal(t, append([]string{"12-24"}, want...), got)
}

// A file that is no list of whole days says why, with the line of the policy.
func TestHolidaysThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for holidays, says := range map[string]string{
		calendarOf("DTSTART:20270101T120000Z"):                                           `the event "A day" is no whole day: blackouts are dates`,
		calendarOf("DTSTART;VALUE=DATE:20270102\nDTEND;VALUE=DATE:20270101"):             `the event "A day" does not end after it begins`,
		calendarOf("DTSTART;VALUE=DATE:20270101\nRRULE:FREQ=YEARLY;BYMONTH=5;BYDAY=1MO"): `the event "A day" repeats by a rule other than FREQ=YEARLY: write its dates into the policy`,
		calendarOf("SUMMARY:x"): "is no whole day",
		"no calendar":           "de.ics can't be read: ",
	} {
		_, err := policyWith(t, holidays, "blackouts: [de.ics]")
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "line 2")
	}
	_, err := policyWith(t, "", "blackouts: [fr.ics]")
	require.ErrorContains(t, err, "fr.ics can't be read: opening it: no such file or directory")
}
