// Package guard puts functions and http.Handlers behind a limiter, whichever it is. The
// packages counters and rate have a Guard each, which says what a call takes; the rest is
// here: what is done with a refusal, and the header fields of answers.
package guard
