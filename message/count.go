package message

import "strconv"

// Count returns a number of things, for a sentence. The plural of the noun ends in an s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
