// Package guard puts functions and http.Handlers behind a limiter. The packages counters and rate
// each have a Guard, which says what a call takes; the rest is here: the handling of refusals, and
// the header fields of answers.
package guard
