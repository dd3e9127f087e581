package store

import (
	"strconv"
	"strings"
)

// minVersion is the oldest Redis with the features that the scripts use.
const minVersion = "7.0"

// minMajor is the major number of minVersion.
const minMajor = 7

// parseInfo reads the lines "name:value" of an INFO reply.
func parseInfo(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info
}

// tooOld reports whether a version such as 6.2.14 is before minVersion. A version that
// does not begin with a number is not too old.
func tooOld(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < minMajor
}
