package message

import "strconv"

// Count returns a number and its noun. It adds an s for the plural.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
