package calendar

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Tables have all clock changes of their years, and are built once.
func TestZoneTables(t *testing.T) {
	t.Parallel()
	zones := new(ZoneTables)
	middle := time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range []string{"UTC", "", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca", "Asia/Kolkata"} {
		zone, err := zones.Location(name)
		require.NoError(t, err)
		again, err := zones.Location(name)
		require.NoError(t, err)
		require.Same(t, zone, again)
		table := zones.TableAt(zone, middle)
		require.Same(t, table, zones.TableAt(zone, middle.AddDate(0, 6, 0)))
		for at := middle.AddDate(-2, 0, 0); at.Before(middle.AddDate(2, 0, 0)); at = at.Add(27 * time.Minute) {
			_, offset := at.In(zone).Zone()
			if table.Local(at.UnixMilli()) != at.UnixMilli()+int64(offset)*1000 {
				t.Fatalf("%v in %s is not %d s from UTC", at, name, offset)
			}
		}
	}
	require.Empty(t, zones.TableAt(time.UTC, middle).Words)
	kolkata, err := zones.Location("Asia/Kolkata")
	require.NoError(t, err)
	require.Equal(t, "1735689600000 19800000", zones.TableAt(kolkata, middle).Words)
	for _, name := range []string{"Local", "Europe/Atlantis", "../etc/passwd"} {
		_, err := zones.Location(name)
		require.ErrorContains(t, err, "an IANA time zone such as Europe/Berlin", name)
	}
}

// Requests about any year work, and the cache stays bounded.
func TestZoneTablesAreBounded(t *testing.T) {
	t.Parallel()
	zones := new(ZoneTables)
	berlin, err := zones.Location("Europe/Berlin")
	require.NoError(t, err)
	for year := 0; year < 10_000; year += 97 {
		noon := time.Date(year, 7, 1, 12, 0, 0, 0, time.UTC)
		_, offset := noon.In(berlin).Zone()
		require.Equal(t, noon.UnixMilli()+int64(offset)*1000, zones.TableAt(berlin, noon).Local(noon.UnixMilli()), year)
	}
	zones.tables.Range(func(key, _ any) bool {
		require.Contains(t, []any{zoneYear{"Europe/Berlin", 2037}, zoneYear{"Europe/Berlin", 2134}}, key)
		return true
	})
}

// Natural periods cover all times: each contains its own times, and the next one begins where
// it ends.
func TestPeriodsFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "America/St_Johns", "Antarctica/Troll", "Pacific/Apia"} {
		zone, err := ParseTimeZone(name)
		require.NoError(t, err)
		start := time.Date(2010, time.October, 28, 0, 0, 0, 0, time.UTC)
		table := new(ZoneTables).TableAt(zone, start)
		for p := Hour; p <= Month; p++ {
			from, until := table.PeriodAt(p, start.UnixMilli())
			for n := 0; n < 500 && until < start.AddDate(1, 3, 0).UnixMilli(); n++ {
				require.LessOrEqual(t, time.Duration(until-from)*time.Millisecond, p.Longest(), "%s of %s at %d", p, name, from)
				for _, at := range []int64{from, from + (until-from)/2, until - 1} {
					first, end := table.PeriodAt(p, at)
					require.Equal(t, []int64{from, until}, []int64{first, end}, "%s of %s at %d", p, name, at)
				}
				following, end := table.PeriodAt(p, until)
				require.Equal(t, until, following, "%s of %s", p, name)
				from, until = following, end
			}
		}
	}
}

// Each zone of Windows has an IANA zone that exists.
func TestWindowsZones(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(windowsZones) {
		windows, iana, _ := strings.Cut(strings.TrimSpace(line), "=")
		require.True(t, isZone(iana), line)
		require.False(t, isZone(windows), line)
	}
}
