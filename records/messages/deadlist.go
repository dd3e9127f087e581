package messages

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MaxDeadLetters is the maximum number of dead letters that a call lists or purges.
const MaxDeadLetters = 1000

// DeadLettersRequest requests dead letters, in the order in which they ended. The zero value
// requests the first MaxDeadLetters.
type DeadLettersRequest struct {
	User   string     // "" for all users
	Before time.Time  // ended before this; zero for all
	After  DeadLetter // continue after its User, ID and EndedAt; zero for the beginning
	Limit  int        // 1 to MaxDeadLetters; zero means MaxDeadLetters
}

// List returns dead letters without their content, ascending by the time they ended, then by id and
// user. It returns fewer than the limit if there are no more. Its memory does not grow with their
// number.
//
// It reads every partition; for a single user, one. It skips stale entries and removes them from
// the store.
func (d *DeadLetters) List(ctx context.Context, r DeadLettersRequest) ([]DeadLetter, error) {
	limit := cmp.Or(r.Limit, MaxDeadLetters)
	if limit < 1 || limit > MaxDeadLetters {
		return nil, &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxDeadLetters)}
	}
	keys := script.EveryKey(d.keys.DeadLetters)
	if r.User != "" {
		if err := keyspace.CheckUser(r.User); err != nil {
			return nil, err
		}
		keys = []string{d.keys.DeadLettersOf(r.User)}
	}
	till := "+inf"
	if !r.Before.IsZero() {
		till = "(" + strconv.FormatInt(r.Before.UnixMilli(), 10)
	}
	wanted := func(member string) bool {
		user, _, ok := keyspace.ParseDeadLetterMember(member)
		return ok && (r.User == "" || r.User == user)
	}
	var letters []DeadLetter
	after := script.EntryAt(r.After.EndedAt, keyspace.DeadLetterMember(r.After.User, r.After.ID))
	for more := true; more && len(letters) < limit; {
		missing := limit - len(letters)
		entries, err := script.Oldest(ctx, d.client, listing, keys, after, till, missing, wanted)
		if err != nil {
			return nil, err
		}
		if letters, err = d.read(ctx, letters, entries); err != nil {
			return nil, err
		}
		if more = len(entries) == missing; more {
			after = entries[missing-1]
		}
	}
	return letters, nil
}

const listing = "listing dead letters"

// read appends the dead letters of entries, and removes stale entries.
func (d *DeadLetters) read(ctx context.Context, letters []DeadLetter, entries []redis.Z) ([]DeadLetter, error) {
	if len(entries) == 0 {
		return letters, nil
	}
	records, fields := make([]*redis.SliceCmd, len(entries)), InfoFields()
	_, err := d.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, e := range entries {
			user, id, _ := keyspace.ParseDeadLetterMember(script.MemberOf(e))
			records[i] = pipe.HMGet(ctx, d.keys.Record(user, id), fields...)
		}
		return nil
	})
	if err != nil {
		return nil, store.Explain(err, listing)
	}
	for i, e := range entries {
		user, id, _ := keyspace.ParseDeadLetterMember(script.MemberOf(e))
		s, err := InfoOf(user, id, script.ReadFields(fields, records[i].Val()), listing)
		if err != nil {
			return nil, err
		}
		if s.died(int64(e.Score)) {
			letters = append(letters, DeadLetter{Info: s})
			continue
		}
		if _, err := d.purge(ctx, user, id, nothing); err != nil {
			return nil, err
		}
	}
	return letters, nil
}
