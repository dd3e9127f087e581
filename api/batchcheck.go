package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// The parameters of a dry run's other rules.
const (
	whatIfRules  = "what_if"
	whatIfPolicy = "what_if_policy"
)

const (
	// maxTogether is the largest number of lines of a dry run that can forget its copies, see
	// groups.
	maxTogether = 250_000
	// endDryRunWithin bounds the time to remove the copies of a dry run.
	endDryRunWithin = 30 * time.Second
)

func (s *server) batchCheckRoutes() []route {
	return []route{stream(s, route{
		Operation: named("checkBatch", http.MethodPost, "/v1/messages/batch/dry-run", "messages",
			"Dry run of many messages",
			"Answers each line with the outcome that it would have in submitBatch, and stores nothing. Earlier lines count. "+
				fmt.Sprintf("A dry run has at most %d lines, or %d if the lines of each user stand together. ", s.Limits.DryRunLines, maxTogether)+
				"`what_if` and `what_if_policy` judge by other rules than the stored ones, and require a key with the scope admin. "+
				"Settings of single users still apply. Lines, quotas and lines_per_minute are as in submitBatch, but a dry run that "+
				"stopped can't be continued: run it again."),
		scope: accounts.ScopeSubmit, looks: true, submits: true, once: true,
	}, s.batchAnswers("An outcome `error` is the last. Its line and those after it were not judged."), s.checkBatch)}
}

type dryRunBatch struct {
	WithoutFreeTimes bool       `query:"without_free_times" doc:"As in submitBatch."`
	Rules            otherRules `query:"what_if" example:"2/calendar_day,1/hour" doc:"Rules separated by commas, at most one of each window. Each replaces the rule of the policy with the same window, or is added to the others."`
	WithPolicy       bool       `query:"what_if_policy" doc:"true judges by the policy in the first line of the body, in the form of applyPolicy. It replaces the stored policy of its name (default if it has none), which must exist."`
	Lines            dryRunLines
}

// dryRunLines is a body of lines of messages. The first line may be a policy.
type dryRunLines struct{ messageLines }

func (dryRunLines) document(s *server, in *inputs) {
	in.lines(&huma.Schema{AnyOf: []*huma.Schema{schemaOf[message.Draft](s), schemaOf[policy.Document](s)}})
}

// otherRules replace the stored rules in a dry run.
type otherRules struct{ all []policy.Rule }

// UnmarshalText reads the parameter.
func (o *otherRules) UnmarshalText(text []byte) (err error) {
	o.all, err = policy.ParseRules(strings.Split(string(text), ","), whatIfRules)
	return err
}

func (in *dryRunBatch) check(ctx context.Context, _ *server) error {
	if (in.WithPolicy || len(in.Rules.all) > 0) && !callerOf(ctx).may(accounts.ScopeAdmin) {
		return forbidden(accounts.ScopeAdmin)
	}
	return nil
}

// checkBatch answers the lines of a request as submitBatch does, but stores nothing.
func (s *server) checkBatch(w http.ResponseWriter, r *http.Request, in dryRunBatch) {
	without, withPolicy := in.WithoutFreeTimes, in.WithPolicy
	whatIf := rules.WhatIf{Rules: in.Rules.all}
	who := callerOf(r.Context()).holder()
	err := s.dryRuns.take(who)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	defer s.dryRuns.leave(who)
	batch := s.openBatch(w, r)
	batch.lines.most = maxTogether
	if withPolicy {
		whatIf.Policy, err = batch.lines.policy()
	}
	var dryRun *submit.DryRun
	if err == nil {
		dryRun, err = s.charging(r.Context()).StartDryRunWhatIf(r.Context(), whatIf)
	}
	if err != nil {
		batch.refuse(inParameter(err, withPolicy))
		return
	}
	defer s.endDryRun(r.Context(), dryRun)
	own := new(dryRunMessages)
	groups := newGroups(batch.lines, s.Limits.DryRunLines, func(ctx context.Context) error {
		own.clear()
		return dryRun.Clear(ctx)
	})
	batch.next = groups.next
	batch.answer(r.Context(), groups.reportIdle(func(ctx context.Context, m message.Message) (message.Outcome, error) {
		m.WithoutFreeTimes = without
		o, err := dryRun.Submit(ctx, m)
		if err != nil {
			return message.Outcome{}, err
		}
		return own.concealed(ctx, s, o)
	}), nil)
}

// endDryRun removes the copies of a dry run. Copies that remain expire.
func (s *server) endDryRun(ctx context.Context, dryRun *submit.DryRun) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endDryRunWithin)
	defer cancel()
	if err := dryRun.Close(ctx); err != nil {
		s.Logger.WarnContext(ctx, "the copies of a dry run stay until they expire", "error", err)
	}
}

// inParameter returns an error about the replacing rules as one about the parameter.
func inParameter(err error, withPolicy bool) error {
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok && (wrong.Field == "what-if" || wrong.Field == "rules" && !withPolicy) {
		return fault.InField(wrong, whatIfRules)
	}
	return err
}

// policy reads the first line, a policy. Call it before next.
func (l *lines) policy() (*policy.Policy, error) {
	_ = l.control.SetReadDeadline(l.now().Add(l.idle))
	buffered := bufio.NewReaderSize(l.body, DefaultBody)
	text, err := buffered.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fault.Wrong(whatIfPolicy, "the first line, which is the policy, is too long: it has at most %d bytes", DefaultBody)
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, l.unread(err)
	}
	l.before = 1
	p, err := policyOfLine(bytes.TrimSpace(text))
	l.body = buffered
	return p, err
}

// unread returns the answer to an incomplete body.
func (l *lines) unread(err error) *web.Error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &web.Error{Status: http.StatusRequestTimeout, Outcome: message.Outcome{
			Outcome: message.Errored, Code: fault.CodeUnavailable, Detail: l.late(),
		}}
	}
	return web.Incomplete(err, "")
}

// policyOfLine reads a policy. The error is a *fault.InvalidError, or several.
func policyOfLine(text []byte) (*policy.Policy, error) {
	if err := message.CheckJSON(text, whatIfPolicy); err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return nil, fault.Wrong(whatIfPolicy, "the first line has to be a policy, as one JSON object")
	}
	d, faults, err := message.DecodeMembers[policy.Document](members)
	if err != nil {
		return nil, fault.Wrong(whatIfPolicy, "the first line has to be a policy, as one JSON object")
	}
	d.Name, d.Version = cmp.Or(d.Name, policy.DefaultName), 0
	p, err := d.Policy()
	return &p, faults.With(err)
}

type messageRef struct{ user, id string }

// dryRunMessages has the messages that a dry run has accepted. They are not in the store.
type dryRunMessages struct {
	mu       sync.Mutex
	accepted map[messageRef]bool
}

// concealed returns an outcome without the ids of other accounts' messages. It keeps the ids of
// earlier lines.
func (own *dryRunMessages) concealed(ctx context.Context, s *server, o message.Outcome) (message.Outcome, error) {
	if o.Outcome == message.Accepted {
		own.add(messageRef{o.User, o.ID})
		return o, nil
	}
	ids := make([][]string, len(o.Violations))
	for i, v := range o.Violations {
		for _, conflict := range v.Conflicts {
			ids[i] = append(ids[i], conflict.ID)
		}
	}
	err := s.concealIn(ctx, o)
	for i, v := range o.Violations {
		for n := range v.Conflicts {
			if own.has(messageRef{o.User, ids[i][n]}) {
				v.Conflicts[n].ID = ids[i][n]
			}
		}
	}
	o.NoteOthers()
	return o, err
}

func (own *dryRunMessages) add(ref messageRef) {
	own.mu.Lock()
	defer own.mu.Unlock()
	if own.accepted == nil {
		own.accepted = make(map[messageRef]bool)
	}
	own.accepted[ref] = true
}

func (own *dryRunMessages) clear() {
	own.mu.Lock()
	defer own.mu.Unlock()
	clear(own.accepted)
}

func (own *dryRunMessages) has(ref messageRef) bool {
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.accepted[ref]
}
