package submit

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
)

// Status returns the status of a message, with its history, and its content while that is kept. ok
// is false for an unknown message: it was never accepted, or it is forgotten, long after its end.
// The error is a *fault.InvalidError or says that the store did not answer.
func (s *Submitter) Status(ctx context.Context, user, id string) (status message.Status, ok bool, err error) {
	statuses, err := s.Messages(ctx, user, id)
	if err != nil {
		return message.Status{}, false, err
	}
	return statuses[0], statuses[0].Status != "", nil
}

// Statuses returns the statuses of a user's messages, without their contents, in the order of the
// ids, in one round trip. The Status of an unknown message is empty.
func (s *Submitter) Statuses(ctx context.Context, user string, ids ...string) ([]message.Status, error) {
	return look(ctx, s, s.records.Look, withoutContent, user, ids)
}

// Traces is Statuses with the histories.
func (s *Submitter) Traces(ctx context.Context, user string, ids ...string) ([]message.Status, error) {
	return look(ctx, s, s.records.Trace, withoutContent, user, ids)
}

func withoutContent(m messages.Info) (message.Status, error) { return StatusOf(m), nil }

// Messages is Traces with the contents.
func (s *Submitter) Messages(ctx context.Context, user string, ids ...string) ([]message.Status, error) {
	return look(ctx, s, s.records.Read, StoredStatus, user, ids)
}

// look reads messages and returns those that the submitter may see.
func look[T any](
	ctx context.Context, s *Submitter, read func(ctx context.Context, user string, ids ...string) ([]T, error),
	statusOf func(T) (message.Status, error), user string, ids []string,
) ([]message.Status, error) {
	if err := s.Policies.Refresh(ctx); err != nil {
		return nil, err
	}
	found, err := read(ctx, user, ids...)
	if err != nil {
		return nil, err
	}
	statuses := make([]message.Status, len(found))
	for i, m := range found {
		if statuses[i], err = statusOf(m); err != nil {
			return nil, err
		}
	}
	return s.ownStatuses(statuses), nil
}
