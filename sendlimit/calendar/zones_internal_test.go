package calendar

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Tables have all clock changes of their years, and are built once.
func TestZoneTables(t *testing.T) {
	t.Parallel()
	zones := NewZoneTables()
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
	zones := NewZoneTables()
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
