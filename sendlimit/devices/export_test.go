package devices

import "strings"

// EncodeAsIs is Encode without checks.
func EncodeAsIs(list []Device) string {
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = encodeLine(d)
	}
	return strings.Join(lines, "\n")
}
