package api

import (
	"context"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// operatorsContent documents who sees title, body and data.
const operatorsContent = "A key with the scope admin sees title, body and data of other accounts' messages only with the scope content. " +
	"Each such look is logged."

// owns reports whether the caller's account sent a message.
func (c caller) owns(m message.Status) bool { return c.account() != "" && c.account() == m.Account }

// sees reports whether the caller may see the content of a message that it may read.
func (c caller) sees(m message.Status) bool { return c.owns(m) || c.may(accounts.ScopeContent) }

// look returns what became of a message, with its content if the caller may see that. It
// returns known false for a message that the caller can't read. Other contents are not
// read from the store.
func (s *server) look(ctx context.Context, user, id string) (status message.Status, known bool, err error) {
	who := callerOf(ctx)
	if who.confined() || who.may(accounts.ScopeContent) {
		return s.reaching(ctx).Status(ctx, user, id)
	}
	statuses, err := s.submitter.Traces(ctx, user, id)
	if err != nil {
		return message.Status{}, false, err
	}
	status = statuses[0]
	if who.owns(status) {
		own, still, err := s.actingFor(who.account()).Status(ctx, user, id)
		if err != nil || still { // else another account has taken the id since
			return own, still, err
		}
	}
	return status, status.Status != "", nil
}

// logLook logs that the caller is shown the content of a message that its account did not
// send. Callers without a key, who can't be told apart, are not logged.
func (s *server) logLook(ctx context.Context, m message.Status) {
	who := callerOf(ctx)
	shown := m.Title != "" || m.Body != "" || len(m.Data) > 0
	if who.keyless || who.owns(m) || !shown {
		return
	}
	s.logger.InfoContext(ctx, "content of a message shown", "account", who.account(), "key", who.identity.Key.ID,
		"user", m.User, "id", m.ID, "owner", m.Account, "request_id", requestID(ctx))
}
