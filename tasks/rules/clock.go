package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// ClockError returns a *fault.UnavailableError with the cause fault.ErrClockStepped while a
// step of a clock of the store is waited out, else nil. With it no younger rules come, and no
// script judges by older ones than PoliciesWithin by the store's clock: so nothing is accepted,
// sent early, dropped as expired or forgotten.
func (p *Policies) ClockError() error {
	step := p.Clock.Stepped()
	if step == (storeclock.Step{}) {
		return nil
	}
	return &fault.UnavailableError{
		Detail: fmt.Sprintf("the clock of Redis has stepped forward by %s: set it right;"+
			" if it is right now, wait up to %s", step.Ahead.Round(time.Second), storeclock.StepWait),
		Err: fault.ErrClockStepped,
	}
}

// orStepped returns the ClockError in place of another error: with that one, the last known rules
// would go on to judge by a clock that can't be trusted.
func (p *Policies) orStepped(err error) error {
	if stepped := p.ClockError(); stepped != nil {
		return stepped
	}
	return err
}

// tellStep logs when a step of the store's clock is noticed, and when it is over.
func (p *Policies) tellStep(ctx context.Context, step storeclock.Step) {
	p.taking.Lock()
	defer p.taking.Unlock()
	switch {
	case !step.Since.IsZero() && p.toldStep.IsZero():
		p.logger.WarnContext(ctx, "the clock of Redis has stepped forward: nothing is accepted or delivered until it is back, or has stood",
			"ahead", step.Ahead.Round(time.Second), "for", storeclock.StepWait)
	case step.Since.IsZero() && !p.toldStep.IsZero():
		p.logger.WarnContext(ctx, "the clock of Redis is trusted again: going on", "after", p.Clock.Local().Sub(p.toldStep).Round(time.Second))
	}
	p.toldStep = step.Since
}
