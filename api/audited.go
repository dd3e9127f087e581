package api

import (
	"context"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// endWithin bounds how long the end of a change may take to be logged.
const endWithin = 5 * time.Second

// audited makes a change that the caller may make, and logs it: who, what, and what came of it.
// What can't be logged is not done.
func (s *server) audited(r *http.Request, e audit.Entry, change func() error) error {
	ctx := r.Context()
	who := callerOf(ctx)
	e.Account, e.Key, e.Address, e.Operator = who.account(), who.identity.Key.ID, s.client(r).String(), who.may(accounts.ScopeAdmin)
	e, err := s.audit.Begin(ctx, e)
	if err != nil {
		return err
	}
	failed := change()
	outcome, code, answer := audit.Done, "", ""
	if failed != nil {
		o := s.outcomeOf(ctx, failed)
		outcome, code, answer = audit.Refused, string(o.Code), o.Detail
		if o.Outcome == message.Errored {
			outcome = audit.Failed
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if err := s.audit.End(end, e, outcome, code, answer); err != nil {
		s.logger.WarnContext(ctx, "an entry of the audit log stays without its outcome", "entry", e.ID, "outcome", outcome, "error", err)
	}
	return failed
}
