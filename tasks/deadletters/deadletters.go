package deadletters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/ended"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// DeadLetters are the messages that failed for good, or may or may
// not have arrived. It is safe for concurrent use.
type DeadLetters struct {
	policies *rules.Policies // refreshed before a Retry
	kept     *messages.DeadLetters
	notices  *notices.Outbox
	ended    *ended.Campaigns
	activity *activity.Log
	flush    func() // of activity
	queue    *queue.Queue
	timers   *queue.Timers
	logger   *slog.Logger
	client   redis.UniversalClient
}

// New returns the dead letters of a backend. Close them. The error is a
// *fault.InvalidError.
func New(b *backend.Backend) (*DeadLetters, error) {
	kept, err := messages.NewDeadLetters(b.Client, b.Timeline)
	if err != nil {
		return nil, err
	}
	outbox, err := notices.New(b.Client, notices.Options{Prefix: b.Timeline.Prefix})
	if err != nil {
		return nil, err
	}
	d := &DeadLetters{
		ended: ended.New(b.Client, b.Keys, b.Policies.Clock), policies: b.Policies, kept: kept, notices: outbox, activity: b.Activity, flush: b.FlushActivity, queue: b.Queue, timers: b.Queue.Timers(b.Watch, b.Logger),
		logger: b.Logger, client: b.Client,
	}
	d.timers.Start()
	return d, nil
}

// Close waits for confirmations of retried messages, and writes the counts of the backend's activity.
// The client stays open.
func (d *DeadLetters) Close() {
	d.timers.Close()
	d.flush()
}

// ListRequest asks for dead letters, by the time when they ended. The zero value asks for
// the first of all.
type ListRequest struct {
	User     string         // "" for all users
	Reason   string         // given up for this reason; "" for any
	Account  string         // of this account; "" for all
	Campaign string         // of this campaign; "" for all
	Before   time.Time      // ended before this; zero for all
	After    message.Status // begin after this one; the zero value begins with the first
	Limit    int            // 1 to messages.MaxDeadLetters; zero means that
}

// Now returns the store's time. EndedAt is by the same clock.
func (d *DeadLetters) Now(ctx context.Context) (time.Time, error) {
	now, err := d.client.Time(ctx).Result()
	return now.UTC().Truncate(time.Millisecond), store.Explain(err, "asking the store for the time")
}

// Count counts the dead letters, perhaps with a few former ones.
func (d *DeadLetters) Count(ctx context.Context) (int, error) {
	return d.kept.Count(ctx)
}

// List returns dead letters without their content. next is the After of the next page; without a
// User, there are no more.
func (d *DeadLetters) List(ctx context.Context, r ListRequest) (list []message.Status, next message.Status, err error) {
	after := messages.DeadLetter{Info: messages.Info{User: r.After.User, ID: r.After.ID, EndedAt: r.After.EndedAt.Time}}
	letters, on, err := d.kept.List(ctx, messages.DeadLettersRequest{
		User: r.User, Reason: r.Reason, Account: r.Account, Campaign: r.Campaign, Before: r.Before, After: after, Limit: r.Limit,
	})
	if err != nil {
		return nil, next, err
	}
	list = make([]message.Status, len(letters))
	for i, letter := range letters {
		list[i] = submit.StatusOf(letter.Info)
	}
	return list, message.Status{User: on.User, ID: on.ID, EndedAt: message.Time{Time: on.EndedAt}}, nil
}

// Get returns a dead letter. It returns ok false if the message is none.
func (d *DeadLetters) Get(ctx context.Context, user, id string) (letter message.Status, ok bool, err error) {
	found, ok, err := d.kept.Get(ctx, user, id)
	if err != nil || !ok {
		return message.Status{}, false, err
	}
	letter, err = submit.StoredStatus(found)
	return letter, err == nil, err
}

// Retry sends a dead letter after all, at the next free time of its user, with all its
// attempts again. If it is refused, the dead letter does not change.
func (d *DeadLetters) Retry(ctx context.Context, user, id string) (message.Outcome, error) {
	if err := d.policies.Refresh(ctx); err != nil {
		return message.Outcome{}, err
	}
	letter, _, err := d.kept.Get(ctx, user, id)
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	generation := keyspace.NewToken()
	decision, err := d.kept.Retry(ctx, messages.RetryRequest{
		User: user, ID: id, Generation: generation,
		Valid: d.ended.Valid(messages.Campaign{Account: letter.Account, Name: letter.Campaign}),
	})
	if ended := (&messages.EndedError{}); errors.As(err, &ended) {
		return message.Outcome{Outcome: message.Refused, Code: ended.Code(), Detail: ended.Error(), User: user, ID: id}, nil
	}
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
	d.timers.Set(ctx, sendlimit.Timer{
		User: user, ID: id, Generation: generation, Due: decision.At,
		Origin: sendlimit.Origin{Account: letter.Account, Campaign: letter.Campaign},
	}, decision.Now)
	d.queue.EnqueueNotices(ctx, decision.Notices, d.logger)
	if !decision.Replayed {
		d.activity.Retried(letter.Account, decision.Now)
	}
	return o, nil
}

// noRetry returns why a dead letter is not retried.
func noRetry(d sendlimit.Decision, user, id string) string {
	switch {
	case d.Code == fault.CodeExpired:
		return fmt.Sprintf("message %s to %s expired at %s: submit it again with a later expires_at",
			id, user, d.ExpiresAt.Format(message.TimeLayout))
	case d.Code == fault.CodeBlocked:
		return submit.BlockedSentence(user)
	case d.Code == fault.CodeOptedOut:
		return submit.OptedOutSentence(user)
	case d.Code == fault.CodeSendLimit && !d.ExpiresAt.IsZero():
		return fmt.Sprintf("no time is free for %s before message %s expires at %s",
			user, id, d.ExpiresAt.Format(message.TimeLayout))
	case d.Code == fault.CodeSendLimit:
		return fmt.Sprintf("no time is free for %s as far ahead as messages are accepted", user)
	default:
		return NoDeadLetter(user, id).Detail
	}
}

// Purge forgets a dead letter: its content, its record and its id.
func (d *DeadLetters) Purge(ctx context.Context, user, id string) (message.Outcome, error) {
	purged, err := d.kept.Purge(ctx, user, id)
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	if !purged {
		return NoDeadLetter(user, id), nil
	}
	return message.Outcome{Outcome: message.Purged, User: user, ID: id}, nil
}

// PurgeBefore forgets at most limit dead letters that ended before a time, the oldest
// first; zero means any time. It returns how many, and whether there may be more.
func (d *DeadLetters) PurgeBefore(ctx context.Context, before time.Time, limit int) (purged int, more bool, err error) {
	return d.kept.PurgeBefore(ctx, before, limit)
}

// NoDeadLetter returns the outcome for a message that is no dead letter.
func NoDeadLetter(user, id string) message.Outcome {
	return message.Outcome{
		Outcome: message.Refused, Code: fault.CodeNotFound, User: user, ID: id,
		Detail: fmt.Sprintf("no dead letter %q of user %q: list shows the dead letters", id, user),
	}
}
