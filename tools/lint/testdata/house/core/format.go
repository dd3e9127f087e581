package core

// Unformatted begins with an empty line.
func Unformatted() string {
/* want run make fmt */
	return ""
}
