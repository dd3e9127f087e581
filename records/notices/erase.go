package notices

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// IsAbout reports whether a notice is about a user. The id is the part of its key after "n:", or
// its entry in the outbox or among the failed notices.
func IsAbout(id, user string) bool {
	n, ok := ParseID(id)
	return ok && n.Kind == UserQuota && n.Subject == user
}

// GatheredIsAbout reports whether a gathered entry is about a user.
func GatheredIsAbout(member, user string) bool {
	_, line, ok := ParseGathered(member)
	return ok && line.User == user
}

// EraseFromDigests removes a user from every digest that was not announced, and returns from how
// many. A digest that is being delivered may still name the user; all names are erased when it
// ends. Entries for later digests are in the user's own partition.
func (n *Outbox) EraseFromDigests(ctx context.Context, user string) (int, error) {
	const doing = "looking for a user in digests"
	if err := keyspace.CheckUser(user); err != nil {
		return 0, err
	}
	var ids []string
	add := func(_ int, entry redis.Z) {
		id, _ := entry.Member.(string)
		if notice, ok := ParseID(id); ok && notice.Kind == UserQuotaDigest {
			ids = append(ids, id)
		}
	}
	all := redis.ZRangeArgs{Start: "-inf", Stop: "+inf", ByScore: true}
	for _, key := range []func(int) string{n.keys.Notices, n.keys.DeadNotices} {
		if err := script.EachPartition(ctx, n.client, doing, key, all, add); err != nil {
			return 0, err
		}
	}
	erased := 0
	for _, id := range ids {
		from, err := n.eraseFromDigest(ctx, id, user)
		if err != nil {
			return erased, err
		}
		if from {
			erased++
		}
	}
	return erased, nil
}

func (n *Outbox) eraseFromDigest(ctx context.Context, id, user string) (bool, error) {
	const doing = "taking a user out of a digest"
	notice, err := parseNotice(id)
	if err != nil {
		return false, err
	}
	key := n.keys.Notice(notice.Subject, id)
	erased := false
	removeUser := func(tx *redis.Tx) error {
		text, err := tx.HGet(ctx, key, keyspace.NoticeDetails).Result()
		if err != nil {
			return err
		}
		notice.Details = []byte(text)
		d, err := notice.ParseDetails()
		if err != nil {
			return err
		}
		before := len(d.Users)
		d.Users = slices.DeleteFunc(d.Users, func(line DigestUser) bool { return line.User == user })
		if len(d.Users) == before {
			return nil
		}
		d.More += before - len(d.Users)
		details, err := json.Marshal(d)
		if err != nil {
			return script.ReplyError(doing, err.Error())
		}
		err = store.Transaction(ctx, tx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, keyspace.NoticeDetails, details)
			return nil
		})
		erased = err == nil
		return err
	}
	// A delivery may claim or end it in between.
	for range digestChanges {
		if err = n.client.Watch(ctx, removeUser, key); !errors.Is(err, redis.TxFailedErr) {
			break
		}
	}
	if errors.Is(err, redis.Nil) {
		return false, nil // it has ended, and names nobody
	}
	return erased, store.Explain(err, doing)
}

// digestChanges is how often a digest may change during the removal: each attempt claims and
// settles it.
const digestChanges = 8
