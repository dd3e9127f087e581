package integration_test

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// life is one message, as its submitter knows it. An id that was cancelled and
// submitted again has several.
type life struct {
	messageName

	number   int
	provider string
	expires  bool
	// may is set if a request got no answer.
	mayBeAbsent, mayBeCancelled bool
	absent, cancelled           bool // according to an answer
	// places has the send time that was acknowledged last, and those requested since
	// that may apply instead; ever has all send times there were.
	places, ever []time.Time
}

// livesOf follows the submitters' journals. Faults are answers that no history
// explains.
func livesOf(plans map[string]crashPlan, events []crashEvent) (lives []*life, faults []string) {
	latest := make(map[messageName]*life)
	asked := make(map[string]int) // how often each step was requested
	for _, e := range events {
		if e.Event != eventBegins && e.Event != eventEnds {
			continue
		}
		at := fmt.Sprint(e.Process, e.Lane, e.Step)
		name := messageName{e.User, e.ID}
		step := plans[e.Process][e.Lane][e.Step]
		if e.Event == eventBegins {
			asked[at]++
			if step.Do == doSubmit && asked[at] == 1 {
				latest[name] = &life{
					messageName: name, number: step.Life, provider: step.Provider,
					expires: step.Expires > 0 && step.In > 0, mayBeAbsent: true,
				}
				lives = append(lives, latest[name])
			}
			latest[name].asks(step, e)
			continue
		}
		if fault := latest[name].answered(step, e, asked[at] == 1); fault != "" {
			faults = append(faults, fmt.Sprintf("%s/%s: %s to %+v: %+v", name.user, name.id, fault, step, *e.Outcome))
		}
	}
	return lives, faults
}

func (l *life) asks(step crashStep, e crashEvent) {
	at := e.SendAt
	if at.IsZero() {
		at = e.At.Truncate(time.Millisecond) // as soon as possible
	}
	switch step.Do {
	case doSubmit, doMove:
		l.places = append(l.places, at)
		l.ever = append(l.ever, at)
	case doCancel:
		l.mayBeCancelled = true
	}
}

// answered applies an answer; first is true if the step was requested once.
func (l *life) answered(step crashStep, e crashEvent, first bool) (problem string) {
	o := e.Outcome
	switch {
	case o.Outcome == message.Accepted:
		if o.Shifted && !step.Shift && step.In > 0 {
			return "shifted unasked"
		}
		l.mayBeAbsent = false
		l.stands(o.SendAt.Time)
	case o.Outcome == message.Moved:
		l.stands(o.SendAt.Time)
	case o.Outcome == message.Cancelled:
		l.cancelled = true
	case o.Outcome != message.Refused && o.Outcome != message.Invalid:
		return "an answer of another kind"
	case step.Do == doSubmit:
		l.absent = true
	case o.Code == fault.CodeNotFound && !l.mayHaveGone():
		return "not found"
	case step.Do == doMove && first:
		l.places = l.places[:len(l.places)-1]
	case step.Do == doCancel && first:
		l.mayBeCancelled = false
	}
	return ""
}

func (l *life) stands(at time.Time) {
	l.places = []time.Time{at}
	l.ever = append(l.ever, at)
}

// mayHaveGone reports whether the message may have given its id back.
func (l *life) mayHaveGone() bool {
	return l.absent || l.mayBeAbsent || l.mayBeCancelled || l.provider == providerGone || l.expires
}

// bounds returns how often the message is delivered at least and at most, if doubts is
// the number of deliveries that may or may not have reached the provider.
func (l *life) bounds(doubts int, skip, usedUp bool) (least, most int) {
	switch {
	case l.absent || l.provider == providerGone:
		return 0, 0
	case l.cancelled:
		return 0, doubts
	}
	least, most = 1, 1+doubts
	if skip {
		most = 1
	}
	if l.mayBeAbsent || l.mayBeCancelled || l.expires || doubts > 0 && (skip || usedUp) {
		least = 0
	}
	return least, most
}

// mayEnd reports whether the record is a possible end of the message.
func (l *life) mayEnd(record map[string]string, doubts int, skip, usedUp bool) bool {
	if record == nil {
		return l.absent || l.mayBeAbsent
	}
	switch record["s"] {
	case stateDelivered:
		return l.provider != providerGone && !l.absent && !l.cancelled
	case stateCancelled:
		return l.cancelled || l.mayBeCancelled
	case stateDropped:
		return l.expires
	case stateFailed:
		return l.provider == providerGone || usedUp && doubts > 0
	case stateUncertain:
		return doubts > 0 && (skip || usedUp || l.expires || l.provider == providerGone)
	}
	return false
}

// earliest returns the earliest possible delivery time of the message.
func (l *life) earliest(doubts int) time.Time {
	from := l.places
	if doubts > 0 {
		from = l.ever // the one in doubt was before a move
	}
	first := from[0]
	for _, at := range from {
		if at.Before(first) {
			first = at
		}
	}
	return first
}
