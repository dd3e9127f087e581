package userdata

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Erasure counts what was removed of a user.
type Erasure struct {
	User      string `json:"user"`
	Messages  int    `json:"messages"`  // with a record
	Cancelled int    `json:"cancelled"` // of these, cancelled before they were sent
	Tasks     int    `json:"tasks"`     // in the queue
	Keys      int    `json:"keys"`      // in the store, including those of messages and dry runs
	// Entries is how many there were in shared lists of the store.
	// Those in the log of changes stay, without the user; see audit.Log.EraseUser.
	Entries int `json:"entries"`
	// Running is how many running tasks could not be removed: the queue
	// has the user's name until they end.
	Running int `json:"running"`
}

// erasePause is the time between two looks at running tasks.
const erasePause = 250 * time.Millisecond

// Erase removes all data of a user. It cancels pending messages first, so that nothing
// more is sent. It waits at most wait for deliveries and running tasks, which can't be removed:
// Erasure.Running counts those that are left, and a second Erase finds them. Messages that are
// submitted meanwhile may stay. Erasing twice is harmless.
func (u *Users) Erase(ctx context.Context, user string, wait time.Duration, progress Progress) (Erasure, error) {
	e := Erasure{User: user}
	defer u.backend.FlushActivity()
	keys, err := u.find(ctx, user, half(progress, 0))
	if err != nil {
		return e, err
	}
	waiting, done := context.WithTimeout(ctx, wait)
	defer done()
	for sending := messagesAmong(keys); ; {
		// Cancel them each time: after a failed delivery a message is pending again.
		sending, err = u.cancel(ctx, sending, &e)
		if err != nil {
			return e, err
		}
		if err := u.drop(ctx, &e); err != nil {
			return e, err
		}
		// The task of a batch ends before its deliveries do.
		if e.Running == 0 && len(sending) == 0 || !storeclock.Sleep(waiting, nil, erasePause) {
			break
		}
	}
	if err := u.eraseStored(ctx, &e, half(progress, 1)); err != nil {
		return e, err
	}
	digests, err := u.notices.EraseFromDigests(ctx, user)
	e.Entries += digests
	if err != nil {
		return e, err
	}
	// A program that read a message before the erasure may have enqueued it since.
	for before := -1; before < e.Tasks; {
		before = e.Tasks
		storeclock.Sleep(ctx, nil, queue.EnqueueWithin)
		if err := u.drop(ctx, &e); err != nil {
			return e, err
		}
	}
	return e, nil
}

// cancel cancels the user's messages, and returns those that are being sent.
func (u *Users) cancel(ctx context.Context, ids []string, e *Erasure) (sending []string, err error) {
	for _, id := range ids {
		isSending, err := u.cancelMessage(ctx, id, e)
		if err != nil {
			return nil, err
		}
		if isSending {
			sending = append(sending, id)
		}
	}
	return sending, nil
}

// cancelMessage releases a pending message, and counts it. It ignores messages that are being
// sent or have ended. The account stays charged.
func (u *Users) cancelMessage(ctx context.Context, id string, e *Erasure) (sending bool, err error) {
	const tries = 5
	account := ""
	r := sendlimit.ReleaseRequest{User: e.User, ID: id}
	for range tries {
		d, err := u.timeline.Release(ctx, r)
		if err != nil {
			return false, err
		}
		if d.Code != fault.CodeChanged && d.Code != fault.CodeTooLate {
			if d.Allowed && !d.Replayed {
				e.Cancelled++
				u.backend.Activity.Cancelled(account, d.Now)
			}
			return false, nil
		}
		found, err := u.records.Look(ctx, e.User, id)
		if err != nil {
			return false, err
		}
		m := found[0]
		if d.Code == fault.CodeTooLate {
			if m.State == messages.StatePending && !m.Progress.Delivered() {
				continue // its delivery has failed since
			}
			return m.State == messages.StateSending, nil
		}
		account = m.Account
		// No charge has this attempt, so none is given back.
		r.Hold, r.From = nil, m.SendAt
		if m.Hold != "" {
			r.Hold = &sendlimit.Hold{Account: account, Attempt: keyspace.NewToken(), NotAfter: d.Now.Add(time.Minute), Former: m.Hold}
		}
	}
	return false, store.Explain(errors.New("it keeps being changed"), "cancelling a message")
}

// drop deletes the user's tasks, except running ones.
func (u *Users) drop(ctx context.Context, e *Erasure) error {
	deleted, running, err := u.queue.TasksOf(e.User).Delete(ctx)
	e.Tasks += deleted
	e.Running = running
	return err
}

// half returns the progress of the first or second half.
func half(progress Progress, part int64) Progress {
	if progress == nil {
		return nil
	}
	return func(done, total int64) { progress(part*total+done, 2*total) }
}

// eraseStored removes all data of a user from the store, except from the digests.
func (u *Users) eraseStored(ctx context.Context, e *Erasure, progress Progress) error {
	keys, err := u.find(ctx, e.User, progress)
	if err != nil {
		return err
	}
	e.Messages = len(messagesAmong(keys))
	if e.Entries, err = u.eraseEvents(ctx, e.User, recordsAmong(keys)); err != nil {
		return err
	}
	var own []string
	for _, k := range keys {
		if !k.kind.shared() {
			own = append(own, k.key)
			continue
		}
		removed, err := u.eraseFrom(ctx, k, e.User)
		if err != nil {
			return err
		}
		e.Entries += removed
	}
	if err := u.devices.Forget(ctx, e.User); err != nil {
		return err
	}
	if e.Keys, err = u.unlink(ctx, own); err != nil {
		return err
	}
	if err := u.devices.Recount(ctx, e.User); err != nil {
		return err
	}
	changes, err := u.audit.EraseUser(ctx, e.User)
	e.Entries += changes
	return err
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
	entries, err := u.members(ctx, k, user)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	members := make([]any, 0, len(entries))
	for member := range entries {
		members = append(members, member)
	}
	removed, err := u.client.ZRem(ctx, k.key, members...).Result()
	return int(removed), store.Explain(err, doing)
}

// together is how many keys one round trip reads or removes.
const together = 500

// unlink removes keys of one partition, and returns how many there were.
func (u *Users) unlink(ctx context.Context, keys []string) (removed int, err error) {
	for some := range slices.Chunk(keys, together) {
		unlinked, err := u.client.Unlink(ctx, some...).Result()
		if err != nil {
			return removed, store.Explain(err, "removing a user's keys")
		}
		removed += int(unlinked)
	}
	return removed, nil
}
