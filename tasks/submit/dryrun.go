package submit

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// StartDryRun begins a dry run of many messages. Accepted messages count for later ones. Close it.
func (s *Submitter) StartDryRun(ctx context.Context) (*DryRun, error) {
	if err := s.Policies.Refresh(ctx); err != nil {
		return nil, err
	}
	rules := s.Policies.Rules().Frozen()
	return s.dryRun(rules, rules.Policies()[0])
}

// StartDryRunWhatIf begins a dry run with other rules than the store's. With the zero WhatIf it is
// StartDryRun. The error is a *fault.InvalidError for invalid rules, or says that the store did not
// answer.
func (s *Submitter) StartDryRunWhatIf(ctx context.Context, w rules.WhatIf) (*DryRun, error) {
	rules, changed, err := s.Policies.WhatIf(ctx, w)
	if err != nil {
		return nil, err
	}
	return s.dryRun(rules, changed)
}

func (s *Submitter) dryRun(rules *sendlimit.Rules, policy policy.Policy) (*DryRun, error) {
	o := s.options
	o.Rules = rules
	t, err := sendlimit.NewTimeline(s.commands, o)
	if err != nil {
		return nil, err
	}
	return &DryRun{
		submitter: s, timeline: t, rules: rules, policy: policy, dryRun: t.StartDryRun(s.client), charges: heldInDryRun{s.charger.charges.StartDryRun()},
	}, nil
}

// DryRun is a dry run of many messages, with the rules at its start. An account's quota starts
// with its usage at its first message.
type DryRun struct {
	submitter *Submitter
	timeline  *sendlimit.Timeline
	rules     *sendlimit.Rules
	policy    policy.Policy
	dryRun    *sendlimit.DryRun
	charges   heldInDryRun
}

// Policy returns the policy that replaces one of the store, with its replaced rules. If none is
// replaced, it returns the policy of users without a named one.
func (r *DryRun) Policy() policy.Policy { return r.policy }

// Submit returns the answer that Submitter.Submit would give after the messages that this dry run
// has accepted. Nothing is sent.
func (r *DryRun) Submit(ctx context.Context, m message.Message) (message.Outcome, error) {
	m = r.submitter.message(m)
	return untilSameZone(func() (message.Outcome, error) {
		return r.submit(ctx, resolve(r.rules, m, r.submitter.clock.OfUser(m.User).Now()))
	})
}

func (r *DryRun) submit(ctx context.Context, m resolved) (message.Outcome, error) {
	charged := &chargedReserve{holder: r.charges, clock: r.submitter.clock.OfUser(m.User), judge: r.dryRun, rules: r.rules}
	if m.Account != "" {
		p, err := r.submitter.charger.payers.Active(ctx, m.Account)
		if err != nil {
			return badAccount(err, m.Message)
		}
		charged.payer = p
	}
	o, request := r.submitter.judge(ctx, m, nil, r.timeline, charged.reserve)
	if charged.open != nil {
		charged.giveFirstBack(ctx) // the store did not answer
	}
	if o.Submitted() && !o.Replayed {
		r.submitter.capacity.take(request.content) // its copies take room too
	}
	explainCharge(&o, request.decision, m.Category, charged.refused, charged.payer)
	if m.Account != "" {
		o.Day = dayOf(charged.charged, charged.kept)
	}
	if request.err != nil {
		return o, request.err
	}
	return o, r.submitter.addLocal(ctx, &o, m)
}

// Clear removes the copies of the users judged so far. Their messages no longer count, but their
// charges do. Do not call Submit meanwhile.
func (r *DryRun) Clear(ctx context.Context) error { return r.dryRun.Clear(ctx) }

// Close removes all data of the dry run from the store.
func (r *DryRun) Close(ctx context.Context) error { return r.dryRun.Close(ctx) }

// heldInDryRun keeps the holds of a dry run.
type heldInDryRun struct{ *quota.DryRun }

func (h heldInDryRun) settleLater(held sendlimit.Hold) { h.Keep(held) }

func (h heldInDryRun) settleNow(_ context.Context, held sendlimit.Hold) { h.Keep(held) }

func (h heldInDryRun) giveBack(_ context.Context, held sendlimit.Hold) { h.GiveBack(held) }

// leave gives the hold back, as no relay settles the holds of a dry run.
func (h heldInDryRun) leave(held sendlimit.Hold) { h.GiveBack(held) }
