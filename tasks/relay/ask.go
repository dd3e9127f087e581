package relay

// askOnce returns a function that asks at its first call and remembers the answer. Callers
// may be concurrent. They wait for each other at a channel: a virtual clock would stand still
// while they wait at a sync.Once, and an answer may need it.
func askOnce[T any](ask func() (T, error)) func() (T, error) {
	var answer T
	var failed error
	known, turn := false, make(chan struct{}, 1)
	return func() (T, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		if !known {
			answer, failed = ask()
			known = true
		}
		return answer, failed
	}
}
