package calendar

import (
	"archive/zip"
	_ "embed" // the data of the zones
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// ZoneDataVersion is the release of the IANA time zone database in zoneinfo.zip. The file is
// lib/time/zoneinfo.zip of Go; update.bash beside it names the release.
const ZoneDataVersion = "2025c"

// zoneData has the data of all zones. time.LoadLocation prefers the data of the machine to
// time/tzdata: programs on machines with different data would judge the same time differently.
//
//go:embed zoneinfo.zip
var zoneData string

// zoneFiles opens zoneData.
var zoneFiles = sync.OnceValues(func() (*zip.Reader, error) { //nolint:globals // opened once
	return zip.NewReader(strings.NewReader(zoneData), int64(len(zoneData)))
})

// ParseTimeZone returns the IANA time zone with a name, by the data of the program; "" is UTC. The
// error is a *fault.InvalidError for the field "time_zone". For a name of Windows, and for an
// offset, it suggests the IANA name.
func ParseTimeZone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if zone, err := loadZone(name); err == nil {
		return zone, nil
	}
	want := "an IANA time zone such as Europe/Berlin"
	if hint := zoneHint(name); hint != "" {
		want += ": " + hint
	}
	return nil, &fault.InvalidError{Field: "time_zone", Value: name, Want: want}
}

// loadZone reads a zone. It finds neither folders nor names outside the data.
func loadZone(name string) (*time.Location, error) {
	files, err := zoneFiles()
	if err != nil {
		return nil, err
	}
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(name, data)
}
