package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/refit"
)

// newRefitTurns returns the turns of previews and refits. Each uses up to half of the store's
// time.
func newRefitTurns() *slots {
	return newTurns(1, "a preview or a refit is being answered, and one is at a time: try again when it has ended", "preview or refit under way")
}

func (s *server) previewPolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "previewPolicy", Method: http.MethodPost, Path: policyPattern + "/preview", Tags: []string{"policies"},
			Summary: "List scheduled messages that would not fit a policy",
			Description: "The policy is not applied, and nothing is changed. Each message that would not fit is a line. Messages are checked by time: " +
				"a message fits if it breaks no rule together with the earlier ones that fit. " + aboutRefits,
			Parameters:  []*huma.Param{policyParameter()},
			RequestBody: jsonBody[policy.Document](s),
			Responses:   s.refitResponses(bodyProblems()...),
		},
		scope: accounts.ScopeAdmin, handle: s.previewPolicy, looks: true, streams: true, attended: true,
	}
}

func (s *server) previewPolicy(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(s.now().Add(s.limits.Timeout)) // there are none in some tests
	_, err := web.ParseQuery(r.URL.RawQuery, nil)
	var proposed policy.Policy
	if err == nil {
		proposed, err = s.readPolicy(r, func(policy.Document) error { return nil })
	}
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	s.answerRefit(w, r, func(ctx context.Context, watcher refit.Watcher) (message.RefitSummary, error) {
		return s.refitter.Preview(ctx, proposed, watcher)
	})
}

func (s *server) refitPolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "refitPolicy", Method: http.MethodPost, Path: policyPattern + "/refit", Tags: []string{"policies"},
			Summary: "Move or cancel scheduled messages that do not fit a policy",
			Description: "Uses the stored policy. It can be stopped at any time: the same request for the same version continues where it stopped. It " +
				"begins two seconds after the first line, when every program follows the policy. Each message that does not fit is a line. " + aboutRefits,
			Parameters: []*huma.Param{policyParameter(), {
				Name: "then", In: "query", Required: true, Example: string(message.RefitShift),
				Description: "shift moves each message to its next free time before it expires. cancel cancels it.",
				Schema:      &huma.Schema{Type: huma.TypeString, Enum: []any{string(message.RefitShift), string(message.RefitCancel)}},
			}},
			Responses: s.refitResponses(http.StatusNotFound, http.StatusConflict),
		},
		scope: accounts.ScopeAdmin, handle: s.refitPolicy, streams: true, attended: true,
	}
}

func (s *server) refitPolicy(w http.ResponseWriter, r *http.Request) {
	q, err := web.ParseQuery(r.URL.RawQuery, []string{"then"})
	action := message.RefitAction(q["then"])
	if err == nil && action != message.RefitShift && action != message.RefitCancel {
		err = &fault.InvalidError{Field: "then", Value: q["then"], Want: "shift or cancel"}
	}
	var policy policy.Policy
	if err == nil {
		policy, err = s.storedPolicy(r)
	}
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	s.answerRefit(w, r, func(ctx context.Context, watcher refit.Watcher) (message.RefitSummary, error) {
		return s.refitter.Run(ctx, policy, action, watcher)
	})
}

// aboutRefits describes the lines of both.
const aboutRefits = "A `progress` line comes first and then every second. The summary is the last line: `previewed` or `refitted`. " +
	"If the request stops early, the summary covers what was checked, and the last line is a problem's outcome. " +
	"The request ends with the connection. It uses at most half of the store's time, so only one runs at a time and others are answered with 429."

// refitResponses documents the lines.
func (s *server) refitResponses(problems ...int) map[string]*huma.Response {
	return s.lineResponses([]*huma.Schema{
		schemaOf[message.RefitProgress](s), schemaOf[message.Misfit](s), schemaOf[message.RefitSummary](s),
	}, problems...)
}

// answerRefit runs a preview or a refit, and answers with its lines as they come.
func (s *server) answerRefit(
	w http.ResponseWriter, r *http.Request, run func(context.Context, refit.Watcher) (message.RefitSummary, error),
) {
	s.answerLines(w, r, s.refits, func(ctx context.Context, out *lineAnswer) (any, error) {
		lines := &refitLines{lineAnswer: out, now: s.now}
		return run(ctx, refit.Watcher{Misfit: lines.misfit, Progress: lines.progress})
	})
}

// refitLines writes the lines of a preview or a refit.
type refitLines struct {
	*lineAnswer

	now  func() time.Time
	told time.Time // when progress was last told
	done int
}

// misfit writes a misfit. A part of the store may have many, so it also writes progress.
func (l *refitLines) misfit(m message.Misfit) error {
	if err := l.line(m); err != nil {
		return err
	}
	if l.now().Sub(l.told) < progressEvery {
		return nil
	}
	return errors.Join(l.tell(), l.Flush())
}

// progress is called after each part of the store. It sends the lines.
func (l *refitLines) progress(done int) {
	l.done = done
	var err error
	if l.now().Sub(l.told) >= progressEvery {
		err = l.tell()
	}
	l.send(err)
}

func (l *refitLines) tell() error {
	l.told = l.now()
	return l.line(message.RefitProgress{Outcome: message.RefitProgressing, Done: l.done, Partitions: keyspace.Partitions})
}
