package userdata

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Erased says what an erasure removed.
type Erased struct {
	Messages int // with a record
	Keys     int // in all, those of messages and dry runs included
	// Entries is how many there were in what the store keeps of several users together. Those
	// in the log of changes stay, without the user; see audit.Log.EraseUser.
	Entries int
}

// Erase removes everything that the store has of a user. A message that is
// still to come is not sent any more; see Cancel for how to keep others of the
// user from being placed while it lasts. What is submitted meanwhile may stay.
// Erasing twice is harmless.
func (u *Users) Erase(ctx context.Context, user string, progress Progress) (Erased, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return Erased{}, err
	}
	keys, err := u.find(ctx, user, progress)
	if err != nil {
		return Erased{}, err
	}
	var erased Erased
	var own []string
	if erased.Entries, err = u.eraseEvents(ctx, user, recordsAmong(keys)); err != nil {
		return erased, err
	}
	for _, k := range keys {
		if k.kind == recordKey && k.run == "" {
			erased.Messages++
		}
		if !k.kind.shared() {
			own = append(own, k.key)
			continue
		}
		removed, err := u.eraseFrom(ctx, k, user)
		if err != nil {
			return erased, err
		}
		erased.Entries += removed
	}
	if erased.Keys, err = u.unlink(ctx, own); err != nil {
		return erased, err
	}
	if err := u.devices.Recount(ctx, user); err != nil {
		return erased, err
	}
	changes, err := u.audit.EraseUser(ctx, user)
	erased.Entries += changes
	return erased, err
}

// eraseFrom removes the user's entries from a key of the partition.
func (u *Users) eraseFrom(ctx context.Context, k userKey, user string) (int, error) {
	const doing = "removing a user's entries"
	if k.kind == copiesKey {
		copies, err := u.copiesOf(ctx, k.key, keysOfUser(u.keys, user))
		if err != nil || len(copies) == 0 {
			return 0, err
		}
		removed, err := u.client.HDel(ctx, k.key, copies...).Result()
		return int(removed), store.Explain(err, doing)
	}
	entries, err := u.members(ctx, k.key, k.kind.entryOf(user))
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	members := make([]string, 0, len(entries))
	for member := range entries {
		members = append(members, member)
	}
	removed, err := u.client.ZRem(ctx, k.key, anyOf(members)...).Result()
	return int(removed), store.Explain(err, doing)
}

func anyOf(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

// together is how many keys one round trip reads or removes.
const together = 500

// unlink removes keys of one partition, and returns how many there were.
func (u *Users) unlink(ctx context.Context, keys []string) (int, error) {
	removed := 0
	for len(keys) > 0 {
		n := min(together, len(keys))
		var commands []*redis.IntCmd
		_, err := u.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range keys[:n] {
				commands = append(commands, pipe.Unlink(ctx, key))
			}
			return nil
		})
		if err != nil {
			return removed, store.Explain(err, "removing a user's keys")
		}
		for _, command := range commands {
			removed += int(command.Val())
		}
		keys = keys[n:]
	}
	return removed, nil
}
