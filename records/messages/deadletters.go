package messages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// DeadLetters lists, retries and purges dead letters: messages that failed for good, and those with
// an uncertain outcome. A dead letter keeps its record as long as any other ended message, and its
// content, too.
//
// It is safe for concurrent use, by any number of processes.
type DeadLetters struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	rules  *judge.Rules
	fixed  sendlimit.Options // complete
}

// NewDeadLetters returns the dead letters of a Timeline with the same Options. The error is an
// *InvalidError.
func NewDeadLetters(client redis.UniversalClient, o sendlimit.Options) (*DeadLetters, error) {
	o, keys, err := o.Complete()
	if err != nil {
		return nil, err
	}
	return &DeadLetters{client: client, keys: keys, rules: o.Rules, fixed: o}, nil
}

// DeadLetter is a message that was given up. List omits its content.
type DeadLetter = Stored

// Count counts the dead letters. It may include stale entries, of messages that were submitted
// again or whose records expired.
func (d *DeadLetters) Count(ctx context.Context) (int, error) {
	return script.CountPartitions(ctx, d.client, "counting dead letters", script.One(d.keys.DeadLetters))
}

// Get returns a dead letter with its content. ok is false if the message is none.
func (d *DeadLetters) Get(ctx context.Context, user, id string) (letter DeadLetter, ok bool, err error) {
	const doing = "reading a dead letter"
	if err := keyspace.CheckMessage(user, id); err != nil {
		return DeadLetter{}, false, err
	}
	var ended *redis.FloatCmd
	var record *redis.SliceCmd
	keys, fields := d.keys, StoredFields()
	_, err = d.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		ended = pipe.ZScore(ctx, keys.DeadLettersOf(user), keyspace.DeadLetterMember(user, id))
		record = pipe.HMGet(ctx, keys.Record(user, id), fields...)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return DeadLetter{}, false, nil
	}
	if err != nil {
		return DeadLetter{}, false, store.Explain(err, doing)
	}
	letter, err = StoredOf(user, id, script.ReadFields(fields, record.Val()), doing)
	if err != nil || !letter.died(int64(ended.Val())) {
		return DeadLetter{}, false, err
	}
	return letter, true, nil
}

// died reports whether the message is the dead letter that ended then. Otherwise the entry is
// stale: the message was submitted again or purged.
func (s Info) died(ended int64) bool {
	return (s.State == StateFailed || s.State == StateUncertain) && s.EndedAt.UnixMilli() == ended
}

// RetryRequest requests that a dead letter is sent after all.
type RetryRequest struct {
	User string
	ID   string
	// Generation is the new generation, see Record. A repeated call with the same one returns the
	// first answer.
	Generation string
	// Valid is as in sendlimit.Request.
	Valid func(context.Context) (time.Time, error)
	Now   time.Time // replaces the server's clock in tests; zero means the server's
}

// Retry makes a dead letter pending again, with all its attempts. Its new time, Decision.At, is the
// next one that the rules and quiet hours allow; a message of an exempt category gets the present
// time. A place that it has kept does not count against it and is given up. Enqueue a task for the
// new time, as after a Reserve.
//
// A refusal changes nothing. Its code is CodeNotFound if the message is no dead letter, CodeExpired
// if the expiry that its caller set has passed, CodeBlocked if the user is blocked, and
// CodeSendLimit if no time is free before that expiry or within the reach. ExpiresAt is that
// expiry.
func (d *DeadLetters) Retry(ctx context.Context, r RetryRequest) (sendlimit.Decision, error) {
	const doing = "retrying a dead letter"
	if err := keyspace.CheckMessage(r.User, r.ID); err != nil {
		return sendlimit.Decision{}, err
	}
	if err := keyspace.CheckToken("generation", r.Generation); err != nil {
		return sendlimit.Decision{}, err
	}
	keys := []string{d.keys.Record(r.User, r.ID), d.keys.Timeline(r.User), d.keys.DeadLettersOf(r.User)}
	cursor := judge.SearchCursor{Begin: ""}
	book := d.rules.Book()
	call := judge.Call{Client: d.client, Script: lua.Revive, Doing: doing, User: r.User, At: func(by judge.UserRules) time.Time {
		return cmp.Or(cursor.At(by), r.Now)
	}, Valid: r.Valid}
	for {
		answer, by, err := book.Run(ctx, call, func(by judge.UserRules) ([]string, []any) {
			return keys, append(by.Arguments(judge.Case{Now: r.Now, Reach: d.fixed.Reach, Places: d.fixed.PlacesPerDay}, 9),
				r.ID, keyspace.DeadLetterMember(r.User, r.ID), r.Generation, keyspace.WatchWord(r.User, r.ID),
				judge.Delays(d.fixed.LookAfter, d.fixed.Horizon, d.fixed.ExpireAfter), cursor.Under(by), d.fixed.Subscribers.Argument())
		})
		if err != nil {
			return sendlimit.Decision{}, err
		}
		book = by.Book
		d.fixed.Subscribers.Note(r.User)
		in := script.Read(answer, doing)
		if in.Int(0) != judge.StatusSearchOn {
			return retried(in)
		}
		next := in.Int(2)
		if in.Err != nil {
			return sendlimit.Decision{}, in.Err
		}
		if err := cursor.GoOn(doing, by, next); err != nil {
			return sendlimit.Decision{}, err
		}
	}
}

// statusNoFreeTime is the additional status of lua/message/revive.lua.
const statusNoFreeTime = judge.StatusPastExpiry + 1

// retried reads a reply of lua.Revive.
func retried(in *script.ReplyReader) (sendlimit.Decision, error) {
	status := in.Int(0)
	c := sendlimit.Decision{Now: in.Time(1), At: in.Time(2), RequestedAt: in.Time(3)}
	switch status {
	case judge.StatusAllowed:
		c.Allowed = true
		_, _ = in.Int(4), in.Int(5)
		c.Notices = in.Strings(6)
	case judge.StatusNotFound:
		c.Code = fault.CodeNotFound
	case judge.StatusPastExpiry:
		c.Code, c.ExpiresAt = fault.CodeExpired, in.Time(4)
	case judge.StatusBlocked:
		c.Code = fault.CodeBlocked
	case judge.StatusOptedOut:
		c.Code = fault.CodeOptedOut
	case statusNoFreeTime:
		c.Code, c.ExpiresAt = fault.CodeSendLimit, in.Time(4)
	default:
		return sendlimit.Decision{}, script.ReplyError(in.Doing, fmt.Sprintf("status %d", status))
	}
	return c, in.Err
}

// Purge removes a dead letter: its record with the content, and its id. The place of an uncertain
// one still counts, also in the rules of its category. It reports false if the message is no dead
// letter. A second call changes nothing.
func (d *DeadLetters) Purge(ctx context.Context, user, id string) (bool, error) {
	if err := keyspace.CheckMessage(user, id); err != nil {
		return false, err
	}
	return d.purge(ctx, user, id, "")
}

// PurgeBefore purges the oldest dead letters that ended before a time; zero means all. It purges at
// most limit of them, 1 to MaxDeadLetters; zero means the maximum. It returns how many it purged,
// and whether there may be more.
func (d *DeadLetters) PurgeBefore(ctx context.Context, before time.Time, limit int) (purged int, more bool, err error) {
	limit = cmp.Or(limit, MaxDeadLetters)
	letters, next, err := d.List(ctx, DeadLettersRequest{Before: before, Limit: limit})
	if err != nil {
		return 0, false, err
	}
	for _, letter := range letters {
		forgotten, err := d.purge(ctx, letter.User, letter.ID, script.Milliseconds(before))
		if err != nil {
			return purged, true, err
		}
		if forgotten {
			purged++
		}
	}
	return purged, next.User != "", nil
}

// nothing is a time before every dead letter: purge then removes only stale entries.
const nothing = 0

// purge removes a dead letter that ended before a time, as script.Milliseconds returns it, or a
// stale entry.
func (d *DeadLetters) purge(ctx context.Context, user, id string, before any) (bool, error) {
	const doing = "purging dead letters"
	return script.Yes(script.Call(ctx, d.client, lua.Purge, doing, []string{d.keys.Record(user, id), d.keys.DeadLettersOf(user)},
		[]any{keyspace.DeadLetterMember(user, id), before, keyspace.WatchWord(user, id)}))
}
