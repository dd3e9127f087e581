package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// whatIf reads the rules of a dry run that replace the store's.
func (p *program) whatIf(f bulkFlags) (rules.WhatIf, error) {
	var w rules.WhatIf
	for _, text := range f.whatIf {
		rule, err := policy.ParseRule(text)
		if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
			err = &fault.InvalidError{Field: "what-if", Value: text, Want: wrong.Want, Says: wrong.Says}
		}
		if err != nil {
			return w, err
		}
		w.Rules = append(w.Rules, rule)
	}
	if f.policyGiven {
		policy, err := config.ReadPolicy(f.whatIfPolicy, p.Stdin, policy.DefaultName, p.now())
		if err != nil {
			return w, fmt.Errorf("reading the policy to judge by: %w", err)
		}
		w.Policy = &policy
	}
	return w, nil
}

// removeWithin bounds how long it takes to remove a dry run's traces.
const removeWithin = 30 * time.Second

// dryRun judges the lines of the source in a dry run and prints the summary. With other rules
// than the store's, it judges them by the store's rules too, to compare.
func (p *program) dryRun(
	ctx context.Context, s *session, source *messagefile.Source, c *collector, f bulkFlags, rules rules.WhatIf,
) error {
	dryRun, err := s.submitter.StartDryRunWhatIf(ctx, rules)
	if err != nil {
		return errors.Join(s.diagnose(ctx, fmt.Errorf("beginning the dry run: %w", err)), c.close())
	}
	judge, forget, end := dryRun.Submit, dryRun.Clear, func() error { return p.endDryRun(ctx, dryRun) }
	if c.summary.Plan.JudgedBy = judgedBy(rules, dryRun.Policy()); c.summary.Plan.JudgedBy != "" {
		now, err := s.submitter.StartDryRun(ctx)
		if err != nil {
			return errors.Join(s.diagnose(ctx, fmt.Errorf("beginning the dry run: %w", err)), c.close(), end())
		}
		c.summary.Plan.Baseline = new(messagefile.Counter)
		judge = besideBaseline(dryRun, now, c.summary.Plan.Baseline)
		forget = func(ctx context.Context) error { return errors.Join(dryRun.Clear(ctx), now.Clear(ctx)) }
		end = func() error { return errors.Join(p.endDryRun(ctx, dryRun), p.endDryRun(ctx, now)) }
	}
	started := p.now()
	stopped := bulk.RunInGroups(ctx, c.progress.spooling(source.Next), c.progress.judging(f.leanJudge(judge)), forget, c,
		bulk.GroupOptions{Folder: p.temp, Phase: c.progress.phase})
	c.summary.Finish(p.now().Sub(started), source.Trimmed())
	err = errors.Join(c.close(), end())
	return p.sumUp(s.diagnosing(ctx), c, f, stopped, err)
}

// besideBaseline judges messages in one dry run, and counts what another answers by the present
// rules.
func besideBaseline(
	whatIf, now *submit.DryRun, baseline *messagefile.Counter,
) func(ctx context.Context, m message.Message) (message.Outcome, error) {
	return func(ctx context.Context, m message.Message) (message.Outcome, error) {
		o, err := now.Submit(ctx, m)
		if err != nil {
			return o, fmt.Errorf("judging by the present rules: %w", err)
		}
		baseline.Add(o)
		return whatIf.Submit(ctx, m)
	}
}

// judgedBy formats the policy that replaces one of the store, "" for none.
func judgedBy(w rules.WhatIf, p policy.Policy) string {
	switch {
	case w.Policy == nil && len(w.Rules) == 0:
		return ""
	case p.Name == policy.DefaultName:
		return p.String()
	default:
		return p.Name + ": " + p.String()
	}
}

// endDryRun removes a dry run's traces, also after an interruption.
func (p *program) endDryRun(ctx context.Context, dryRun *submit.DryRun) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	if err := dryRun.Close(ctx); err != nil {
		return fmt.Errorf("ending the dry run: %w", err)
	}
	return nil
}
