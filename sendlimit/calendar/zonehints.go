package calendar

import (
	_ "embed" // the names of Windows
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// windowsZones has a line "name=IANA name" for each zone of Windows, from CLDR's windowsZones for
// territory 001.
//
//go:embed windowszones.txt
var windowsZones string

// offsetName matches zones of one offset as people write them, such as GMT+2 or UTC-05:00.
var offsetName = regexp.MustCompile(`^(?i:GMT|UTC)([+-])(\d{1,2})(?::?00)?$`)

// zoneHint returns what to write instead of a name that is no IANA time zone; "" if it has no
// suggestion.
func zoneHint(name string) string {
	for line := range strings.Lines(windowsZones) {
		if windows, iana, _ := strings.Cut(strings.TrimSpace(line), "="); strings.EqualFold(windows, name) {
			return "write " + iana
		}
	}
	if offset := offsetName.FindStringSubmatch(name); offset != nil {
		sign := map[string]string{"+": "-", "-": "+"}[offset[1]]
		if hours, _ := strconv.Atoi(offset[2]); hours > 0 {
			if iana := fmt.Sprintf("Etc/GMT%s%d", sign, hours); isZone(iana) {
				return fmt.Sprintf("write %s, which has the opposite sign", iana)
			}
		}
	}
	files, err := zoneFiles()
	if err != nil {
		return ""
	}
	for _, file := range files.File {
		if strings.EqualFold(file.Name, name) && isZone(file.Name) {
			return "write " + file.Name
		}
	}
	return ""
}

func isZone(name string) bool {
	_, err := loadZone(name)
	return err == nil
}
