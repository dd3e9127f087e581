package api

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// operatorsContent documents who sees content and metadata.
const operatorsContent = "A key with the scope admin sees the content (title, body, data and push options) and metadata of other accounts' messages only with the scope content. " +
	"Each such access is logged."

// operatorsMetadata documents who sees the metadata in a list.
const operatorsMetadata = "A key with the scope admin sees the metadata of other accounts' messages only with the scope content. " +
	"Each such access is logged."

// owns reports whether the caller's account is the one that was charged for a message.
func (c caller) owns(owner string) bool { return c.account() != "" && c.account() == owner }

// sees reports whether the caller may see the content and the metadata of a message that it
// may read. owner is the account that was charged for the message.
func (c caller) sees(owner string) bool { return c.owns(owner) || c.may(accounts.ScopeContent) }

// shown returns a message as the caller may see it, and logs if it shows another account's content.
func (s *server) shown(ctx context.Context, m message.Status) message.Status {
	if !callerOf(ctx).sees(m.Account) {
		m.Content, m.Metadata = message.Content{}, nil
	}
	if m.HasContent() || len(m.Metadata) > 0 {
		s.logLook(ctx, m.User, m.ID, m.Account)
	}
	return m
}

// shownEvent is shown for the message of an event.
func (s *server) shownEvent(ctx context.Context, e message.EventData) message.EventData {
	if !callerOf(ctx).sees(e.Account) {
		e.Metadata = nil
	}
	if len(e.Metadata) > 0 {
		s.logLook(ctx, e.User, e.ID, e.Account)
	}
	return e
}

// look returns the status of a message, with its content if the caller may see that. Other content
// is not read from the store. known is false if the caller can't read the message.
func (s *server) look(ctx context.Context, user, id string) (status message.Status, known bool, err error) {
	who := callerOf(ctx)
	if who.confined() || who.may(accounts.ScopeContent) {
		return s.reaching(ctx).Status(ctx, user, id)
	}
	statuses, err := s.Submitter.Traces(ctx, user, id)
	if err != nil {
		return message.Status{}, false, err
	}
	status = statuses[0]
	if who.owns(status.Account) {
		own, still, err := s.actingFor(who.account()).Status(ctx, user, id)
		if err != nil || still { // else another account has taken the id since
			return own, still, err
		}
	}
	return status, status.Status != "", nil
}

// logLook logs that the caller sees the content of another account's message. Callers without a key
// can't be told apart, and are not logged.
func (s *server) logLook(ctx context.Context, user, id, owner string) {
	who := callerOf(ctx)
	if who.keyless || who.owns(owner) {
		return
	}
	s.Logger.InfoContext(ctx, "content of a message shown", "account", who.account(), "key", who.identity.Key.ID,
		"user", user, "id", id, "owner", owner)
}

// changing returns the submitter for a change of a message. An operator without the scope content
// may change only the content of its own account's messages, since the answer shows the rest of the
// content.
func (s *server) changing(ctx context.Context, user, id string, patch message.Patch) (*submit.Submitter, error) {
	who := callerOf(ctx)
	if who.confined() || who.may(accounts.ScopeContent) || !patch.Edit.Says() {
		return s.reaching(ctx), nil
	}
	statuses, err := s.Submitter.Statuses(ctx, user, id)
	if err == nil && statuses[0].Status != "" && !who.owns(statuses[0].Account) {
		return nil, forbidden(accounts.ScopeContent)
	}
	return s.actingFor(who.account()), nil // the change reads it again, and fails as this did
}
