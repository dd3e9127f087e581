package announce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
)

func TestReportDay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, zone, at, now string
		day                 string // its start, local; "" for no report
	}{
		{"before its time the day before yesterday is due, for a day", "", "08:00", "2026-11-22T07:59:59Z", "2026-11-20T00:00:00Z"},
		{"at its time", "", "08:00", "2026-11-22T08:00:00Z", "2026-11-21T00:00:00Z"},
		{"the last moment of the 24 hours", "", "08:00", "2026-11-23T07:59:59Z", "2026-11-21T00:00:00Z"},
		{"at midnight", "", "00:00", "2026-11-22T00:00:00Z", "2026-11-21T00:00:00Z"},
		{"off", "", "", "2026-11-22T08:00:00Z", ""},
		{"by the account's zone", "Asia/Kolkata", "08:00", "2026-11-22T02:30:00Z", "2026-11-21T00:00:00+05:30"},
		{"after a day of 25 hours", "Europe/Berlin", "08:00", "2026-10-26T07:00:00Z", "2026-10-25T00:00:00+02:00"},
		{"after a day of 23 hours", "Europe/Berlin", "08:00", "2026-03-30T06:00:00Z", "2026-03-29T00:00:00+01:00"},
		{"on a day of 25 hours there are 25 hours until the next, and a report is no later than 24", "Europe/Berlin", "00:30", "2026-10-25T23:00:00Z", ""},
		{"at a time that is left out, an hour off", "Europe/Berlin", "02:30", "2026-03-29T02:00:00Z", "2026-03-28T00:00:00+01:00"},
		{"at a time that comes twice, once", "Europe/Berlin", "02:30", "2026-10-25T02:00:00Z", "2026-10-24T00:00:00+02:00"},
		{"a day that begins at one", "America/Sao_Paulo", "08:00", "2018-11-05T12:00:00Z", "2018-11-04T01:00:00-02:00"},
		{"at a time that such a day leaves out, when it begins", "America/Sao_Paulo", "00:30", "2018-11-04T03:00:00Z", "2018-11-03T00:00:00-03:00"},
		{"and not in the evening before", "America/Sao_Paulo", "00:30", "2018-11-04T02:59:59Z", "2018-11-02T00:00:00-03:00"},
		{"east of Greenwich an hour later", "Asia/Beirut", "00:30", "2026-03-28T22:30:00Z", "2026-03-28T00:00:00+02:00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, test.now)
			require.NoError(t, err)
			day, due := reportDay(accounts.Account{
				Name: "shop", Contact: "ops@example.com", TimeZone: test.zone, ReportAt: test.at,
			}, now)
			require.Equal(t, test.day != "", due)
			if due {
				require.Equal(t, test.day, day.Format(time.RFC3339))
			}
		})
	}
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for created, want := range map[time.Time]bool{
		midnight.Add(-time.Millisecond): true, // it may have sent something on the day
		midnight:                        false,
		midnight.Add(8 * time.Hour):     false,
	} {
		_, due := reportDay(accounts.Account{ReportAt: "08:00", Contact: "a@example.com", CreatedAt: created}, midnight.Add(9*time.Hour))
		require.Equal(t, want, due, created)
	}
	for _, without := range []accounts.Account{
		{ReportAt: "08:00"}, {ReportAt: "08:00", Contact: "a@example.com", Disabled: true},
	} {
		_, due := reportDay(without, time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC))
		require.False(t, due)
	}
}
