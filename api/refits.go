package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/refit"
)

// mostRefits is how many previews and refits run at a time. Each uses up to half of the
// store's time.
const mostRefits = 1

func (s *server) previewPolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "previewPolicy", Method: http.MethodPost, Path: policyPattern + "/preview", Tags: []string{"policies"},
			Summary: "List scheduled messages that would not fit a policy",
			Description: "The policy is not applied, and nothing is changed. Each message that would not fit is a line. Messages are checked by time: " +
				"a message fits if it breaks no rule together with the earlier ones that fit. " + refitLines,
			Parameters:  []*huma.Param{policyParameter()},
			RequestBody: jsonBody[policy.Document](s),
			Responses:   s.refitResponses(bodyProblems()...),
		},
		scope: accounts.ScopeAdmin, handle: s.previewPolicy, streams: true, attended: true,
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
	s.streamRefit(w, r, func(ctx context.Context, watcher refit.Watcher) (message.RefitSummary, error) {
		return s.refitter.Preview(ctx, proposed, watcher)
	})
}

func (s *server) refitPolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "refitPolicy", Method: http.MethodPost, Path: policyPattern + "/refit", Tags: []string{"policies"},
			Summary: "Move or cancel scheduled messages that do not fit a policy",
			Description: "Uses the stored policy. It can be stopped at any time: the same request for the same version continues where it stopped. It " +
				"begins two seconds after the first line, when every program follows the policy. Each message that does not fit is a line. " + refitLines,
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
	s.streamRefit(w, r, func(ctx context.Context, watcher refit.Watcher) (message.RefitSummary, error) {
		return s.refitter.Run(ctx, policy, action, watcher)
	})
}

// refitLines describes the lines of both.
const refitLines = "A `progress` line comes first and then every second. The summary is the last line: `previewed` or `refitted`. " +
	"If the request stops early, the summary covers what was checked, and the last line is a problem's outcome. " +
	"The request ends with the connection. It uses at most half of the store's time, so only one runs at a time and others are answered with 429."

// refitResponses document the lines.
func (s *server) refitResponses(problems ...int) map[string]*huma.Response {
	all := s.problems(problems...)
	all[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: "One JSON object a line; `outcome` says which kind it is.",
		Headers:     headers(web.RequestIDHeader),
		Content: map[string]*huma.MediaType{ndjson: {Schema: &huma.Schema{AnyOf: []*huma.Schema{
			schemaOf[message.RefitProgress](s), schemaOf[message.Misfit](s), schemaOf[message.RefitSummary](s), schemaOf[message.Outcome](s),
		}}}},
	}
	return all
}

// streamRefit runs a preview or a refit, and answers with its lines as they come.
func (s *server) streamRefit(
	w http.ResponseWriter, r *http.Request, run func(context.Context, refit.Watcher) (message.RefitSummary, error),
) {
	if !s.refits.TryAcquire(1) {
		web.WriteProblem(w, message.Outcome{
			Outcome: message.Refused, Code: fault.CodeRateLimited,
			Detail: "a preview or a refit is being answered, and one is at a time: try again when it has ended",
		})
		return
	}
	defer s.refits.Release(1)
	control := http.NewResponseController(w)
	// The request is read. A read deadline that passes would look like the end of the
	// connection.
	_ = control.SetReadDeadline(time.Time{})
	ctx, stop := context.WithCancelCause(r.Context())
	lines := &refitStream{answers: newAnswers(w, control, s.now, s.limits.Timeout), now: s.now, stop: stop}
	watched := s.endWhenStopping(ctx, stop, lines.answers)
	summary, err := run(ctx, refit.Watcher{Misfit: lines.misfit, Progress: lines.progress})
	if err != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	stop(nil)
	watched()
	s.endRefit(w, r, lines.answers, summary, err)
}

// endRefit answers with the summary of a refit, or of work on a campaign. If it stopped early, it also says why: in a last
// line, or in the status if there is no line yet.
func (s *server) endRefit(w http.ResponseWriter, r *http.Request, answers *answers, summary any, err error) {
	if _, gone := errors.AsType[*answerError](err); gone || r.Context().Err() != nil {
		return
	}
	if errors.Is(err, errStopping) {
		err = &fault.UnavailableError{Detail: errStopping.Error()}
	}
	if err != nil && !answers.begun() {
		s.writeError(w, r, err)
		return
	}
	// A client that is gone needs no answer.
	_ = answers.line(summary)
	if err != nil {
		last := s.outcomeOf(r.Context(), err)
		last.Outcome = message.Errored
		_ = answers.line(last)
	}
	_ = answers.Flush()
}

// progressEvery is the least time between two progress lines.
const progressEvery = time.Second

// refitStream writes the lines of a preview or a refit.
type refitStream struct {
	answers *answers
	now     func() time.Time
	stop    context.CancelCauseFunc
	told    time.Time // when progress was last told
	done    int
}

// misfit writes a misfit. A part of the store may have many, so it also writes progress.
func (l *refitStream) misfit(m message.Misfit) error {
	if err := l.answers.line(m); err != nil {
		return err
	}
	if l.now().Sub(l.told) < progressEvery {
		return nil
	}
	return errors.Join(l.tell(), l.answers.Flush())
}

// progress is called after each part of the store. It flushes the lines.
func (l *refitStream) progress(done int) {
	l.done = done
	var err error
	if l.now().Sub(l.told) >= progressEvery {
		err = l.tell()
	}
	if err = errors.Join(err, l.answers.Flush()); err != nil {
		l.stop(err)
	}
}

func (l *refitStream) tell() error {
	l.told = l.now()
	return l.answers.line(message.RefitProgress{Outcome: message.RefitProgressing, Done: l.done, Partitions: keyspace.Partitions})
}
