package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// ClockError returns a *fault.UnavailableError with the cause fault.ErrClockStepped while a
// step of a clock of the store is waited out, else nil. Meanwhile no rules are loaded, and
// scripts refuse rules older than PoliciesWithin by the store's clock: so nothing is accepted,
// sent early or dropped as expired.
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

// orStepped returns the ClockError in place of another error, after which the last known rules would
// judge by a wrong clock.
func (p *Policies) orStepped(err error) error {
	if stepped := p.ClockError(); stepped != nil {
		return stepped
	}
	return err
}

// ClockBehind says in a sentence that a clock of the store has jumped back, and what follows; "" if none
// has. Submits and deliveries go on by the store's clock.
func (p *Policies) ClockBehind() string {
	behind := p.Clock.FellBehind()
	if behind == (storeclock.Behind{}) {
		return ""
	}
	return fmt.Sprintf("the clock of Redis has stepped back by %s, so messages are sent late by as much: set it right",
		behind.By.Round(time.Second))
}

// tellBehind logs when the store's clock has jumped back, and when that is over.
func (p *Policies) tellBehind(ctx context.Context, behind storeclock.Behind) {
	p.taking.Lock()
	defer p.taking.Unlock()
	switch {
	case behind.By > 0 && p.toldBehind.IsZero():
		p.logger.ErrorContext(ctx, "the clock of Redis has stepped back: messages are sent late by as much until it is set right",
			"behind", behind.By.Round(time.Second))
	case behind.By == 0 && !p.toldBehind.IsZero():
		p.logger.WarnContext(ctx, "the clock of Redis is on its former course, or past the time before its step back",
			"after", p.Clock.Local().Sub(p.toldBehind).Round(time.Second))
	}
	p.toldBehind = behind.Since
}

// tellStep logs when a step of the store's clock is noticed, and when it is over.
func (p *Policies) tellStep(ctx context.Context, step storeclock.Step) {
	p.taking.Lock()
	defer p.taking.Unlock()
	switch {
	case !step.Since.IsZero() && p.toldStep.IsZero():
		p.logger.WarnContext(ctx, "the clock of Redis has stepped forward: nothing is accepted or delivered until it is set back, or has stayed so for a while",
			"ahead", step.Ahead.Round(time.Second), "for", storeclock.StepWait)
	case step.Since.IsZero() && !p.toldStep.IsZero():
		p.logger.WarnContext(ctx, "the clock of Redis is trusted again", "after", p.Clock.Local().Sub(p.toldStep).Round(time.Second))
	}
	p.toldStep = step.Since
}
