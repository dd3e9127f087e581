package messages

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Ended returns a user's messages that ended and gave their places back: cancelled, dropped and
// failed ones, which Timeline.List does not have. They are listed as long as their records are
// kept, ascending by their former send time, then by id, as in List, so that the two can be merged.
// It returns fewer than the limit if there are no more.
//
// It skips messages that were submitted again, sent after all or purged. It ignores Now of the
// request.
func (r *Records) Ended(ctx context.Context, l sendlimit.ListRequest) ([]Info, error) {
	limit, err := l.Check()
	if err != nil {
		return nil, err
	}
	var ended []Info
	for more := true; more && len(ended) < limit; {
		var entries []keyspace.Reservation
		if entries, more, err = r.endedAfter(ctx, l, limit); err != nil {
			return nil, err
		}
		if ended, err = r.stillEnded(ctx, l.User, ended, entries); err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			l.After = entries[len(entries)-1]
		}
	}
	return ended[:min(limit, len(ended))], nil
}

func (r *Records) endedAfter(ctx context.Context, l sendlimit.ListRequest, limit int) (entries []keyspace.Reservation, more bool, err error) {
	after, till := script.EntryAt(l.After.At, l.After.ID), "+inf"
	if l.From.After(l.After.At) {
		after = script.EntryAt(l.From, "")
	}
	if !l.To.IsZero() {
		till = "(" + strconv.FormatInt(l.To.UnixMilli(), 10)
	}
	all := func(string) bool { return true }
	read, err := script.Oldest(ctx, r.client, doingEnded, []string{r.keys.Ended(l.User)}, after, till, limit, all)
	for _, z := range read {
		entries = append(entries, keyspace.Reservation{ID: script.MemberOf(z), At: time.UnixMilli(int64(z.Score)).UTC()})
	}
	return entries, len(read) == limit, err
}

const doingEnded = "listing messages that ended"

// stillEnded appends the messages of entries without a place.
func (r *Records) stillEnded(ctx context.Context, user string, ended []Info, entries []keyspace.Reservation) ([]Info, error) {
	if len(entries) == 0 {
		return ended, nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	infos, err := r.Look(ctx, user, ids...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doingEnded, err)
	}
	for i, s := range infos {
		gone := s.State == StateCancelled || s.State == StateDropped || s.State == StateFailed
		if gone && s.SendAt.Equal(entries[i].At) {
			ended = append(ended, s)
		}
	}
	return ended, nil
}
