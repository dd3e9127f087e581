package devices

import (
	"strings"
	"time"
)

// EncodeAsIs is Encode without checks.
func EncodeAsIs(list []Device) string {
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = encodeLine(d)
	}
	return strings.Join(lines, "\n")
}

// At returns the store at a time, instead of at the server's.
func (s *Store) At(t time.Time) *Store {
	at := *s
	at.at = t
	return &at
}
