package main

import (
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

// Rules of every side: 1 in any minute and 5 in any hour, 10 in a day of UTC.
const (
	perMinute = 1
	perHour   = 5
	perDay    = 10
)

// tolerance is how much closer than a minute two deliveries may be: a message is not judged again
// until it is so late.
const tolerance = 2 * time.Second

// wrong counts the wrong answers of a side.
type wrong struct {
	Lines    int `json:"lines"`
	Accepted int `json:"accepted"`
	Against  int `json:"against"` // accepted, though a rule was broken
	Fitting  int `json:"fitting"` // refused, though every rule allowed it
}

// judgeAnswers judges each answer by the messages that the side had accepted before it, with the rules
// written out: it counts every window that holds the send time.
func judgeAnswers(messages []side.Message, answers []byte) wrong {
	w := wrong{Lines: len(messages)}
	accepted := make(map[string][]time.Time)
	for i, m := range messages {
		fits := fit(accepted[m.User], m.At)
		switch {
		case answers[i] == 'a':
			w.Accepted++
			if !fits {
				w.Against++
			}
			accepted[m.User] = append(accepted[m.User], m.At)
		case fits:
			w.Fitting++
		}
	}
	return w
}

// fit reports whether a send time is allowed beside others.
func fit(others []time.Time, at time.Time) bool {
	all := append(slices.Clone(others), at)
	day := 0
	for _, t := range all {
		if t.UTC().Truncate(24 * time.Hour).Equal(at.UTC().Truncate(24 * time.Hour)) {
			day++
		}
		// A window that holds the send time, and begins at a message: none is fuller.
		if t.After(at) {
			continue
		}
		if at.Before(t.Add(time.Minute)) && countWithin(all, t, time.Minute) > perMinute ||
			at.Before(t.Add(time.Hour)) && countWithin(all, t, time.Hour) > perHour {
			return false
		}
	}
	return day <= perDay
}

// countWithin counts the times in a window that begins at from.
func countWithin(times []time.Time, from time.Time, window time.Duration) int {
	n := 0
	for _, t := range times {
		if !t.Before(from) && t.Before(from.Add(window)) {
			n++
		}
	}
	return n
}

// countTooClose counts the deliveries that follow another one of the same user within less than a minute.
func countTooClose(times map[string][]time.Time) int {
	n := 0
	for _, of := range times {
		slices.SortFunc(of, time.Time.Compare)
		for i := 1; i < len(of); i++ {
			if of[i].Sub(of[i-1]) < time.Minute-tolerance {
				n++
			}
		}
	}
	return n
}
