package messages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// DeadLetters are the messages that were given up: failed for good, or left with
// an uncertain outcome. Each keeps its record, content included, as long as any
// message that ended, and can be sent after all.
//
// They are safe for concurrent use, by any number of processes.
type DeadLetters struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	rules  *judge.Rules
	fixed  sendlimit.Options // complete
}

// NewDeadLetters returns the dead letters of a Timeline that has the same
// Options. The error is an *InvalidError.
func NewDeadLetters(client redis.UniversalClient, o sendlimit.Options) (*DeadLetters, error) {
	o, keys, err := complete(o)
	if err != nil {
		return nil, err
	}
	return &DeadLetters{client: client, keys: keys, rules: o.Rules, fixed: o}, nil
}

// DeadLetter is a message that was given up.
type DeadLetter struct {
	Standing

	Content []byte // of Get only
}

// Count counts the dead letters. Of a message that was submitted anew since it
// failed, or whose record has expired, it may count the entry that is left.
func (d *DeadLetters) Count(ctx context.Context) (int, error) {
	counts := make([]*redis.IntCmd, keyspace.Partitions)
	_, err := d.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range counts {
			counts[p] = pipe.ZCard(ctx, d.keys.DeadLetters(p))
		}
		return nil
	})
	if err != nil {
		return 0, store.Explain(err, "counting dead letters")
	}
	total := 0
	for _, count := range counts {
		total += int(count.Val())
	}
	return total, nil
}

// Get returns a dead letter with its content; ok is false if the message is
// none.
func (d *DeadLetters) Get(ctx context.Context, user, id string) (letter DeadLetter, ok bool, err error) {
	const doing = "reading a dead letter"
	if err := keyspace.CheckMessage(user, id); err != nil {
		return DeadLetter{}, false, err
	}
	var ended *redis.FloatCmd
	var record *redis.SliceCmd
	keys, fields := d.keys, append(StandingFields(), keyspace.RecordContent)
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
	read := script.ReadFields(fields, record.Val())
	letter.Standing, err = StandingOf(user, id, read, doing)
	if err != nil || !letter.died(int64(ended.Val())) {
		return DeadLetter{}, false, err
	}
	if content, kept := read.Lookup(keyspace.RecordContent); kept {
		letter.Content = []byte(content)
	}
	return letter, true, nil
}

// died reports whether the message is the dead letter that ended then. The entry
// of one that is not is left from before it was submitted anew or forgotten.
func (s Standing) died(ended int64) bool {
	return (s.State == StateFailed || s.State == StateUncertain) && s.EndedAt.UnixMilli() == ended
}

// RetryRequest asks for a dead letter to be sent after all.
type RetryRequest struct {
	User string
	ID   string
	// Generation is the new generation, see Record. A call repeated with the same
	// one gives the first answer again.
	Generation string
	Now        time.Time // replaces the server's clock, for tests; zero means the server's
}

// Retry makes a dead letter pending again, with all its attempts, at the next
// time from now on that is free under the rules and not in quiet hours, or at once
// where its category is exempt: Decision.At. A place that it has kept does not
// count against it, and is given up. Whatever carries the timers has to be told of
// the new time, as after a Reserve.
//
// It is refused, and nothing changes, with CodeNotFound where the message is no
// dead letter, the id having been submitted anew, say; with CodeExpired where
// the expiry that its caller set has passed; with CodeBlocked where the user is
// blocked; and with CodeSendLimit where no time is free before that expiry, or
// within the reach. ExpiresAt is that expiry.
func (d *DeadLetters) Retry(ctx context.Context, r RetryRequest) (sendlimit.Decision, error) {
	const doing = "retrying a dead letter"
	if err := keyspace.CheckMessage(r.User, r.ID); err != nil {
		return sendlimit.Decision{}, err
	}
	if err := keyspace.CheckToken(r.Generation); err != nil {
		return sendlimit.Decision{}, err
	}
	keys := []string{
		d.keys.Record(r.User, r.ID), d.keys.Timeline(r.User), d.keys.Watch(r.User), d.keys.DeadLettersOf(r.User),
	}
	cursor := judge.SearchCursor{Begin: ""}
	book := d.rules.Book()
	call := judge.Call{Client: d.client, Script: lua.Revive, Doing: doing, User: r.User}
	call.Arguments = func(by judge.UserRules) ([]string, []any) {
		rules := by.Rules
		return keys, []any{
			script.Milliseconds(r.Now), r.ID, keyspace.DeadLetterMember(r.User, r.ID), r.Generation, keyspace.WatchSuffix(r.User, r.ID),
			d.fixed.LookAfter.Milliseconds(), d.fixed.ExpireAfter.Milliseconds(), rules.Keep.Milliseconds(),
			rules.Reach(d.fixed.Reach).Milliseconds(),
			rules.Rules, rules.Offsets(r.Now), cursor.Under(by), rules.Alerts,
			rules.Categories, rules.QuietHours(r.Now), by.Settings(),
		}
	}
	for {
		answer, by, err := book.Run(ctx, call)
		if err != nil {
			return sendlimit.Decision{}, err
		}
		book = by.Book
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

// statusNoFreeTime is what lua/message/revive.lua has beside the common statuses.
const statusNoFreeTime = judge.StatusPastExpiry + 1

// retried turns a reply of lua.Revive into a Decision.
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
	case statusNoFreeTime:
		c.Code, c.ExpiresAt = fault.CodeSendLimit, in.Time(4)
	default:
		return sendlimit.Decision{}, script.ReplyError(in.Doing, fmt.Sprintf("status %d", status))
	}
	return c, in.Err
}

// Purge forgets a dead letter: its record with the content, and its id. The place
// of an uncertain one goes on to count, for the rules of its category too. It
// reports false where the message is no dead letter; purging twice is harmless.
func (d *DeadLetters) Purge(ctx context.Context, user, id string) (bool, error) {
	if err := keyspace.CheckMessage(user, id); err != nil {
		return false, err
	}
	return d.purge(ctx, user, id, "")
}

// PurgeBefore purges the oldest dead letters of those that ended before a time,
// zero for all, a step at a time: at most limit of them, 1 to MaxDeadLetters,
// which zero means. It returns how many, and whether there may be more.
func (d *DeadLetters) PurgeBefore(ctx context.Context, before time.Time, limit int) (purged int, more bool, err error) {
	limit = cmp.Or(limit, MaxDeadLetters)
	letters, err := d.List(ctx, DeadLettersRequest{Before: before, Limit: limit})
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
	return purged, len(letters) == limit, nil
}

// nothing, as the time before which to purge, leaves every dead letter and
// removes an entry of what is none.
const nothing = 0

// purge forgets a dead letter that ended before a time, as milliseconds gives
// it, or the entry of what is a dead letter no longer.
func (d *DeadLetters) purge(ctx context.Context, user, id string, before any) (bool, error) {
	const doing = "purging dead letters"
	keys, fields := d.keys, append(StandingFields(), keyspace.RecordContent)
	answer, err := script.Run(ctx, d.client, lua.Purge, doing,
		[]string{keys.Record(user, id), keys.DeadLettersOf(user)}, []any{keyspace.DeadLetterMember(user, id), before})
	if err != nil {
		return false, err
	}
	in := script.Read(answer, doing)
	forgotten := in.Int(0)
	if in.Err == nil && forgotten != 0 && forgotten != 1 {
		return false, script.ReplyError(doing, fmt.Sprintf("outcome %d", forgotten))
	}
	return forgotten == 1, in.Err
}
