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

// maxLooked bounds the dead letters that a call reads to find the requested ones.
const maxLooked = 10 * MaxDeadLetters

// DeadLettersRequest requests dead letters, in the order in which they ended. The zero value
// requests the first MaxDeadLetters.
type DeadLettersRequest struct {
	User     string     // "" for all users
	Reason   string     // given up for this reason; "" for any
	Account  string     // of this account; "" for all
	Campaign string     // of this campaign; "" for all
	Before   time.Time  // ended before this; zero for all
	After    DeadLetter // continue after its User, ID and EndedAt; zero for the beginning
	Limit    int        // 1 to MaxDeadLetters; zero means MaxDeadLetters
}

// filters reports whether the request wants only some of a user's dead letters.
func (r DeadLettersRequest) filters() bool { return r.Reason+r.Account+r.Campaign != "" }

// wants reports whether the request is for a dead letter.
func (r DeadLettersRequest) wants(s Info) bool {
	return (r.Reason == "" || s.Reason == r.Reason) && (r.Account == "" || s.Account == r.Account) && (r.Campaign == "" || s.Campaign == r.Campaign)
}

// List returns dead letters without their content, ascending by the time they ended, then by id and
// user. next is the After of the next page; without a User, there are no more. A page with a Reason,
// an Account or a Campaign may be short, or empty, though there are more: a call reads at most
// maxLooked.
//
// It reads every partition; for a single user, one. It skips stale entries and removes them from
// the store.
func (d *DeadLetters) List(ctx context.Context, r DeadLettersRequest) (letters []DeadLetter, next DeadLetter, err error) {
	limit := cmp.Or(r.Limit, MaxDeadLetters)
	if limit < 1 || limit > MaxDeadLetters {
		return nil, next, &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxDeadLetters)}
	}
	keys := script.EveryKey(d.keys.DeadLetters)
	if r.User != "" {
		if err := keyspace.CheckUser(r.User); err != nil {
			return nil, next, err
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
	next = r.After
	for looked := 0; looked < maxLooked; {
		size := limit - len(letters)
		if r.filters() {
			size = MaxDeadLetters
		}
		entries, err := script.Oldest(ctx, d.client, listing, keys, script.EntryAt(next.EndedAt, keyspace.DeadLetterMember(next.User, next.ID)), till, size, wanted)
		if err != nil {
			return nil, next, err
		}
		found, err := d.read(ctx, entries)
		if err != nil {
			return nil, next, err
		}
		for _, letter := range found {
			if !r.wants(letter.Info) {
				continue
			}
			if letters = append(letters, letter); len(letters) == limit {
				return letters, letter, nil
			}
		}
		if len(entries) < size {
			return letters, DeadLetter{}, nil
		}
		last := entries[size-1]
		next = DeadLetter{Info: Info{EndedAt: time.UnixMilli(int64(last.Score)).UTC()}}
		next.User, next.ID, _ = keyspace.ParseDeadLetterMember(script.MemberOf(last))
		looked += size
	}
	return letters, next, nil
}

const listing = "listing dead letters"

// read returns the dead letters of entries, and removes stale entries.
func (d *DeadLetters) read(ctx context.Context, entries []redis.Z) (letters []DeadLetter, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	records, fields := make([]*redis.SliceCmd, len(entries)), InfoFields()
	_, err = d.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
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
