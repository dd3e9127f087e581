package notices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Dead is a notice that failed for good. It keeps its details as long as any ended notice, and can
// be retried.
type Dead struct {
	Notice // without Details in a list

	EndedAt  time.Time
	Attempts int    // the number of deliveries
	Reason   string // of the last delivery, or ReasonUncertain
}

// MaxDead is the maximum limit of ListDead.
const MaxDead = 1000

// CountDead counts the failed notices.
func (n *Outbox) CountDead(ctx context.Context) (int, error) {
	return script.CountPartitions(ctx, n.client, "counting failed notices", script.One(n.keys.DeadNotices))
}

// ListDead lists failed notices, ascending by the time they ended, then by id. It begins after ID
// and EndedAt of after; zero for the beginning. It returns at most limit notices, 1 to MaxDead;
// zero means MaxDead. A shorter list is the last one.
func (n *Outbox) ListDead(ctx context.Context, after Dead, limit int) ([]Dead, error) {
	const doing = "listing failed notices"
	limit = cmp.Or(limit, MaxDead)
	if limit < 1 || limit > MaxDead {
		return nil, &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxDead)}
	}
	known := func(id string) bool {
		_, ok := ParseID(id)
		return ok
	}
	entries, err := script.Oldest(ctx, n.client, doing, script.EveryKey(n.keys.DeadNotices), script.EntryAt(after.EndedAt, after.ID), "+inf", limit, known)
	if err != nil {
		return nil, err
	}
	dead := make([]Dead, len(entries))
	for i, entry := range entries {
		notice, _ := ParseID(script.MemberOf(entry))
		dead[i] = Dead{Notice: notice, EndedAt: time.UnixMilli(int64(entry.Score)).UTC()}
	}
	return dead, n.describe(ctx, dead)
}

// describe reads the fields of listed notices.
func (n *Outbox) describe(ctx context.Context, dead []Dead) error {
	const doing = "reading failed notices"
	fields := []string{keyspace.NoticeAttempts, keyspace.NoticeReason, keyspace.NoticeUsed, keyspace.NoticeLimit}
	found := make([]*redis.SliceCmd, len(dead))
	_, err := n.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, d := range dead {
			found[i] = pipe.HMGet(ctx, n.keys.Notice(d.Owner(), d.ID), fields...)
		}
		return nil
	})
	if err != nil {
		return store.Explain(err, doing)
	}
	for i := range dead {
		f := script.ReadFields(fields, found[i].Val())
		dead[i].Attempts, dead[i].Reason = int(f.Int(keyspace.NoticeAttempts)), f.Text(keyspace.NoticeReason)
		dead[i].Used, dead[i].Limit = f.Int(keyspace.NoticeUsed), f.Int(keyspace.NoticeLimit)
		if err := f.Err(doing); err != nil {
			return err
		}
	}
	return nil
}

// GetDead returns a failed notice with its details; ok is false if there is none with this id.
func (n *Outbox) GetDead(ctx context.Context, id string) (dead Dead, ok bool, err error) {
	const doing = "reading a failed notice"
	notice, err := parseNotice(id)
	if err != nil {
		return Dead{}, false, err
	}
	fields := []string{
		keyspace.NoticeState, keyspace.NoticeEndedAt, keyspace.NoticeAttempts, keyspace.NoticeReason,
		keyspace.NoticeUsed, keyspace.NoticeLimit, keyspace.NoticeDetails,
	}
	var ended *redis.FloatCmd
	var values *redis.SliceCmd
	_, err = n.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		ended = pipe.ZScore(ctx, n.keys.DeadNotices(keyspace.Partition(notice.Owner())), id)
		values = pipe.HMGet(ctx, n.keys.Notice(notice.Owner(), id), fields...)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return Dead{}, false, nil
	}
	if err != nil {
		return Dead{}, false, store.Explain(err, doing)
	}
	f := script.ReadFields(fields, values.Val())
	dead = Dead{
		Notice: notice, EndedAt: f.Time(keyspace.NoticeEndedAt),
		Attempts: int(f.Int(keyspace.NoticeAttempts)), Reason: f.Text(keyspace.NoticeReason),
	}
	dead.Used, dead.Limit = f.Int(keyspace.NoticeUsed), f.Int(keyspace.NoticeLimit)
	dead.Details = []byte(f.Text(keyspace.NoticeDetails))
	if err := f.Err(doing); err != nil {
		return Dead{}, false, err
	}
	return dead, f.Text(keyspace.NoticeState) == "f" && dead.EndedAt.UnixMilli() == int64(ended.Val()), nil
}

// RetryDead puts a failed notice back into the outbox, with all its attempts. It reports false if
// there is none with this id. A repeated call with the same token, see keyspace.NewToken, gets the
// same answer. A zero now means the server's clock.
func (n *Outbox) RetryDead(ctx context.Context, id, token string, now time.Time) (bool, error) {
	const doing = "retrying a failed notice"
	notice, err := parseNotice(id)
	if err != nil {
		return false, err
	}
	if err := keyspace.CheckToken("token", token); err != nil {
		return false, err
	}
	return script.Yes(script.Call(ctx, n.client, lua.NoticeRevive, doing, n.keysOf(notice), []any{script.Milliseconds(now), id, token}))
}

// PurgeDead erases the details of a failed notice if it ended before a time; zero means any time.
// The notice is not raised again. It reports false if there is none with this id.
func (n *Outbox) PurgeDead(ctx context.Context, id string, before time.Time) (bool, error) {
	const doing = "purging a failed notice"
	notice, err := parseNotice(id)
	if err != nil {
		return false, err
	}
	keys := n.keysOf(notice)
	return script.Yes(script.Call(ctx, n.client, lua.NoticePurge, doing, []string{keys[0], keys[2]}, []any{id, script.Milliseconds(before)}))
}
