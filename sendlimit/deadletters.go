package sendlimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
)

// CodeExpired is the code of a DeadLetters.Retry of a message whose own expiry
// has passed.
const CodeExpired Code = "expired"

// DeadLetters are the messages that were given up: failed for good, or left with
// an uncertain outcome. Each keeps its record, content included, as long as any
// message that ended, and can be sent after all.
//
// They are safe for concurrent use, by any number of processes.
type DeadLetters struct {
	client   redis.UniversalClient
	timeline *Timeline
}

// NewDeadLetters returns the dead letters of a Timeline that has the same
// Options. The error is an *InvalidError.
func NewDeadLetters(client redis.UniversalClient, o Options) (*DeadLetters, error) {
	t, err := NewTimeline(client, o)
	if err != nil {
		return nil, err
	}
	return t.DeadLetters(client), nil
}

// DeadLetters returns the dead letters beside the timeline's places; a Retry is
// judged by the timeline's rules.
func (t *Timeline) DeadLetters(client redis.UniversalClient) *DeadLetters {
	return &DeadLetters{client: client, timeline: t}
}

// DeadLetter is a message that was given up.
type DeadLetter struct {
	Standing

	Content []byte // of Get only
}

// Count counts the dead letters. Of a message that was submitted anew since it
// failed, or whose record has expired, it may count the entry that is left.
func (d *DeadLetters) Count(ctx context.Context) (int, error) {
	counts := make([]*redis.IntCmd, Partitions)
	_, err := d.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range counts {
			counts[p] = pipe.ZCard(ctx, d.timeline.keys.DeadLetters(p))
		}
		return nil
	})
	if err != nil {
		return 0, Unavailable(err, "counting dead letters")
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
	if err := checkMessage(user, id); err != nil {
		return DeadLetter{}, false, err
	}
	var ended *redis.FloatCmd
	var record *redis.SliceCmd
	keys := d.timeline.keys
	_, err = d.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		ended = pipe.ZScore(ctx, keys.DeadLettersOf(user), DeadLetterMember(user, id))
		record = pipe.HMGet(ctx, keys.Record(user, id), append(slices.Clone(standingFields), "c")...)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return DeadLetter{}, false, nil
	}
	if err != nil {
		return DeadLetter{}, false, Unavailable(err, doing)
	}
	values := record.Val()
	letter.Standing, err = standing(user, id, values, doing)
	if err != nil || !letter.died(int64(ended.Val())) {
		return DeadLetter{}, false, err
	}
	if content, some := values[len(standingFields)].(string); some {
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
func (d *DeadLetters) Retry(ctx context.Context, r RetryRequest) (Decision, error) {
	const doing = "retrying a dead letter"
	if err := checkMessage(r.User, r.ID); err != nil {
		return Decision{}, err
	}
	if err := checkGeneration(r.Generation); err != nil {
		return Decision{}, err
	}
	t := d.timeline
	keys := []string{
		t.keys.Record(r.User, r.ID), t.keys.Timeline(r.User), t.keys.Watch(r.User), t.keys.DeadLettersOf(r.User),
	}
	cursor := searchCursor{begin: ""}
	for {
		answer, by, err := judged(ctx, t.book, r.User, doing, func(by userRules) (reply, error) {
			rules := by.rules
			return run(ctx, d.client, lua.Revive, doing, keys, []any{
				milliseconds(r.Now), r.ID, DeadLetterMember(r.User, r.ID), r.Generation, watchSuffix(r.User, r.ID),
				t.options.LookAfter.Milliseconds(), t.options.ExpireAfter.Milliseconds(), rules.keep.Milliseconds(),
				rules.reach(t.options.Reach).Milliseconds(),
				rules.rules, rules.offsets(r.Now), cursor.under(by), rules.alerts,
				rules.categories, rules.quietHours(r.Now), by.settings(),
			})
		})
		if err != nil {
			return Decision{}, err
		}
		in := read(answer, doing)
		if in.int(0) != statusSearchOn {
			return retried(in)
		}
		next := in.int(2)
		if in.err != nil {
			return Decision{}, in.err
		}
		if err := cursor.goOn(doing, by, next); err != nil {
			return Decision{}, err
		}
	}
}

// statusNoFreeTime is what lua/revive.lua has beside the common statuses.
const statusNoFreeTime = statusPastExpiry + 1

// retried turns a reply of lua.Revive into a Decision.
func retried(in *replyReader) (Decision, error) {
	status := in.int(0)
	c := Decision{Now: in.time(1), At: in.time(2), RequestedAt: in.time(3)}
	switch status {
	case statusAllowed:
		c.Allowed = true
		_, _ = in.int(4), in.int(5)
		c.Notices = in.strings(6)
	case statusNotFound:
		c.Code = CodeNotFound
	case statusPastExpiry:
		c.Code, c.ExpiresAt = CodeExpired, in.time(4)
	case statusBlocked:
		c.Code = CodeBlocked
	case statusNoFreeTime:
		c.Code, c.ExpiresAt = CodeSendLimit, in.time(4)
	default:
		return Decision{}, replyError(in.doing, fmt.Sprintf("status %d", status))
	}
	return c, in.err
}

// Purge forgets a dead letter: its record with the content, and its id. The place
// of an uncertain one goes on to count, for the rules of its category too. It
// reports false where the message is no dead letter; purging twice is harmless.
func (d *DeadLetters) Purge(ctx context.Context, user, id string) (bool, error) {
	if err := checkMessage(user, id); err != nil {
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
		forgotten, err := d.purge(ctx, letter.User, letter.ID, milliseconds(before))
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
	keys := d.timeline.keys
	answer, err := run(ctx, d.client, lua.Purge, doing,
		[]string{keys.Record(user, id), keys.DeadLettersOf(user)}, []any{DeadLetterMember(user, id), before})
	if err != nil {
		return false, err
	}
	in := read(answer, doing)
	forgotten := in.int(0)
	if in.err == nil && forgotten != 0 && forgotten != 1 {
		return false, replyError(doing, fmt.Sprintf("outcome %d", forgotten))
	}
	return forgotten == 1, in.err
}

func checkMessage(user, id string) error {
	if err := checkUser(user); err != nil {
		return err
	}
	return checkID(id)
}
