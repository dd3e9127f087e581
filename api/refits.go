package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/refit"
)

func (s *server) refitRoutes() []route {
	lines := s.lines(schemaOf[message.RefitProgress], schemaOf[message.Misfit], schemaOf[message.RefitSummary])
	return []route{
		stream(s, route{
			Operation: named("dryRunPolicy", http.MethodPost, policyPattern+"/dry-run", "policies",
				"Dry run of a policy",
				"Changes nothing. Each message that would not fit is a line. Messages are checked by time: "+
					"a message fits if it breaks no rule together with the earlier ones that fit. "+aboutRefits),
			scope: accounts.ScopeAdmin, looks: true, attended: true,
		}, lines, s.dryRunPolicy),
		stream(s, route{
			Operation: named("refitPolicy", http.MethodPost, policyPattern+"/refit", "policies",
				"Move or cancel scheduled messages that do not fit a policy",
				"Uses the stored policy. It can be stopped at any time: the same request for the same version continues where it stopped. It "+
					"starts two seconds after the first line, when every program follows the policy. Each message that does not fit is a line. "+aboutRefits),
			scope: accounts.ScopeAdmin, attended: true, refuses: []int{http.StatusNotFound, http.StatusConflict},
		}, lines, s.refitPolicy),
	}
}

// aboutRefits describes the lines of dry runs of policies and of refits.
const aboutRefits = "A `progress` line comes first and then every second. The summary is the last line: `dry_run` or `refitted`. " +
	"If the request stops early, the summary covers the checked part, and the last line is a problem's outcome. " +
	"The request ends with the connection. It uses at most half of the store's time. Only one runs at a time; others get 429."

// answerRefit runs a dry run of a policy or a refit, and streams its lines.
func (s *server) answerRefit(
	w http.ResponseWriter, r *http.Request, run func(context.Context, refit.Watcher) (message.RefitSummary, error),
) {
	s.answerLines(w, r, s.refits, func(ctx context.Context, out *lineAnswer) (any, error) {
		last := message.RefitProgress{Outcome: message.RefitProgressing, Partitions: keyspace.Partitions}
		return run(ctx, refit.Watcher{
			Misfit: func(m message.Misfit) error { // a part of the store may have many
				return errors.Join(out.line(m), out.progress(last))
			},
			Progress: func(done int) { // after each part of the store
				last.Done = done
				out.send(out.progress(last))
			},
		})
	})
}

func (s *server) dryRunPolicy(w http.ResponseWriter, r *http.Request, in proposedPolicy) {
	s.answerRefit(w, r, func(ctx context.Context, watcher refit.Watcher) (message.RefitSummary, error) {
		return s.Refitter.DryRun(ctx, in.read, watcher)
	})
}

// policyRefit says how to handle messages that do not fit a policy.
type policyRefit struct {
	ofPolicy

	Then refitAction `query:"then" required:"true" example:"shift" doc:"shift moves each message to its next free time before it expires. cancel cancels it."`
}

type refitAction message.RefitAction

func (*refitAction) schema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: []any{string(message.RefitShift), string(message.RefitCancel)}}
}

// UnmarshalText reads the parameter.
func (a *refitAction) UnmarshalText(text []byte) error {
	*a = refitAction(text)
	if then := message.RefitAction(*a); then != message.RefitShift && then != message.RefitCancel {
		return &fault.InvalidError{Field: "then", Value: string(text), Want: "shift or cancel"}
	}
	return nil
}

func (s *server) refitPolicy(w http.ResponseWriter, r *http.Request, in policyRefit) {
	p, err := s.storedPolicy(r.Context(), in.ofPolicy)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	s.answerRefit(w, r, func(ctx context.Context, watcher refit.Watcher) (message.RefitSummary, error) {
		return s.Refitter.Run(ctx, p, message.RefitAction(in.Then), watcher)
	})
}
