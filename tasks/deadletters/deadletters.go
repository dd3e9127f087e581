package deadletters

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Letters are the messages that were given up: those that failed for good,
// and those of which nobody knows whether the provider has them. They can be
// looked at, sent after all, and forgotten. Safe for concurrent use.
type Letters struct {
	policies *rules.Policies // has to be fresh for a Retry
	kept     *messages.DeadLetters
	notices  *notices.Outbox
	queue    *queue.Queue
	timers   *queue.Timers
	logger   *slog.Logger
	client   redis.UniversalClient
}

// New returns the dead letters of a backend. The error is a *fault.InvalidError. Close
// them.
func New(b *backend.Backend) (*Letters, error) {
	kept, err := messages.NewDeadLetters(b.Client, b.Limits)
	if err != nil {
		return nil, err
	}
	outbox, err := notices.New(b.Client, notices.Options{Prefix: b.Prefix})
	if err != nil {
		return nil, err
	}
	d := &Letters{
		policies: b.Policies, kept: kept, notices: outbox, queue: b.Queue, timers: b.Queue.Timers(b.Watch, b.Logger),
		logger: b.Logger, client: b.Client,
	}
	d.timers.Start()
	return d, nil
}

// Close waits for what is being noted about messages that were retried. The
// client stays open.
func (d *Letters) Close() { d.timers.Close() }

// ListRequest asks for dead letters, the one that ended first coming
// first. The zero value asks for the first of all.
type ListRequest struct {
	User   string         // "" for all users
	Before time.Time      // ended before this; zero for all
	After  message.Status // go on after this one; the zero value starts
	Limit  int            // 1 to sendlimit.MaxDeadLetters, which zero means
}

// Now is the store's time, which EndedAt is of.
func (d *Letters) Now(ctx context.Context) (time.Time, error) {
	now, err := d.client.Time(ctx).Result()
	return now.UTC().Truncate(time.Millisecond), store.Explain(err, "asking the store for the time")
}

// Count counts the dead letters; it may count a few that are none any more.
func (d *Letters) Count(ctx context.Context) (int, error) {
	return d.kept.Count(ctx)
}

// List gives dead letters without their content: fewer than the limit when there
// are no more.
func (d *Letters) List(ctx context.Context, r ListRequest) ([]message.Status, error) {
	after := messages.DeadLetter{Standing: messages.Standing{User: r.After.User, ID: r.After.ID, EndedAt: r.After.EndedAt.Time}}
	list, err := d.kept.List(ctx, messages.DeadLettersRequest{User: r.User, Before: r.Before, After: after, Limit: r.Limit})
	if err != nil {
		return nil, err
	}
	statuses := make([]message.Status, len(list))
	for i, letter := range list {
		statuses[i] = submit.StatusOf(letter.Standing)
	}
	return statuses, nil
}

// Get returns a dead letter; ok is false where the message is none.
func (d *Letters) Get(ctx context.Context, user, id string) (letter message.DeadLetter, ok bool, err error) {
	found, ok, err := d.kept.Get(ctx, user, id)
	if err != nil || !ok {
		return message.DeadLetter{}, false, err
	}
	letter.Status = submit.StatusOf(found.Standing)
	if len(found.Content) > 0 {
		c, err := message.DecodeContent(found.Content)
		if err != nil {
			return message.DeadLetter{}, false, err
		}
		letter.Title, letter.Body, letter.Data = c.Title, c.Body, c.Data
	}
	return letter, true, nil
}

// Retry has a dead letter sent after all, at the next time that is free for its
// user from now on, with all its attempts. Where it can't be, it stays as it is.
func (d *Letters) Retry(ctx context.Context, user, id string) (message.Outcome, error) {
	if err := d.policies.Refresh(ctx); err != nil {
		return message.Outcome{}, err
	}
	generation := keyspace.NewToken()
	decision, err := d.kept.Retry(ctx, messages.RetryRequest{User: user, ID: id, Generation: generation})
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	o := message.Outcome{
		Outcome: message.Retried, User: user, ID: id, SendAt: message.Time{Time: decision.At}, RequestedAt: message.Time{Time: decision.RequestedAt},
	}
	if !decision.Allowed {
		o.Outcome, o.Code, o.Detail = message.Refused, decision.Code, noRetry(decision, user, id)
		return o, nil
	}
	d.timers.Set(ctx, messages.Queued{User: user, ID: id, Generation: generation, Due: decision.At})
	d.queue.EnqueueNotices(ctx, decision.Notices, d.logger)
	return o, nil
}

// noRetry says why a dead letter is not sent after all.
func noRetry(d sendlimit.Decision, user, id string) string {
	switch {
	case d.Code == fault.CodeExpired:
		return fmt.Sprintf("message %s to %s expired at %s: submit it anew with a later expires_at",
			id, user, d.ExpiresAt.Format(message.TimeLayout))
	case d.Code == fault.CodeBlocked:
		return submit.BlockedSentence(user)
	case d.Code == fault.CodeSendLimit && !d.ExpiresAt.IsZero():
		return fmt.Sprintf("no time is free for %s before message %s expires at %s",
			user, id, d.ExpiresAt.Format(message.TimeLayout))
	case d.Code == fault.CodeSendLimit:
		return fmt.Sprintf("no time is free for %s as far ahead as messages are taken", user)
	default:
		return NoDeadLetter(user, id).Detail
	}
}

// Purge forgets a dead letter: its content, its record and its id.
func (d *Letters) Purge(ctx context.Context, user, id string) (message.Outcome, error) {
	purged, err := d.kept.Purge(ctx, user, id)
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	if !purged {
		return NoDeadLetter(user, id), nil
	}
	return message.Outcome{Outcome: message.Purged, User: user, ID: id}, nil
}

// PurgeBefore forgets the oldest dead letters of those that ended before a time,
// zero for all: at most limit of them. It returns how many, and whether there
// may be more.
func (d *Letters) PurgeBefore(ctx context.Context, before time.Time, limit int) (purged int, more bool, err error) {
	return d.kept.PurgeBefore(ctx, before, limit)
}

// NoDeadLetter is the outcome for a message that is none.
func NoDeadLetter(user, id string) message.Outcome {
	return message.Outcome{
		Outcome: message.Refused, Code: fault.CodeNotFound, User: user, ID: id,
		Detail: fmt.Sprintf("message %s to %s is no dead letter: list shows those there are", id, user),
	}
}
