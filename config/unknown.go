package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// The values of unknown_settings.
const (
	unknownReject = "reject"
	unknownWarn   = "warn"
)

// ofNewerVersion is the field of the problem of an unknown setting that is similar to no known one.
const ofNewerVersion = "unknown_settings"

// unknownSetting returns the problem of an unknown setting, which says the sentence. A setting that is
// similar to a known one is mistyped, and always rejected.
func unknownSetting(key, spelled string, known []string, sentence string) *fault.InvalidError {
	if Nearest(key, known) != "" {
		return fault.Wrong("setting", "%s", sentence)
	}
	return &fault.InvalidError{
		Field: ofNewerVersion, Value: spelled, Says: sentence + "; unknown_settings: warn ignores settings of a newer version",
	}
}

// warnsOfUnknown reports whether settings of a newer version are ignored. The settings need not be
// parsed yet.
func warnsOfUnknown(rows []*setting) bool {
	return slices.ContainsFunc(rows, func(row *setting) bool { return row.key == ofNewerVersion && row.written == unknownWarn })
}

// ignoring returns the problems without those of settings of a newer version, and a sentence about each
// of these.
func (r rejections) ignoring() (left rejections, ignored []string) {
	for _, problem := range r {
		if problem.Field == ofNewerVersion {
			ignored = append(ignored, fmt.Sprintf("unknown setting %q%s", fault.Clip(problem.Value), problem.Want)) // Want is the place
		} else {
			left = append(left, problem)
		}
	}
	return left, ignored
}

// KnowsAll is the Check of a program that tries the settings: it rejects what others only warn of.
func KnowsAll(c Config) error {
	if len(c.Ignored) == 0 {
		return nil
	}
	return fault.Wrong(ofNewerVersion, "%s", strings.Join(c.Ignored, "\n  "))
}
