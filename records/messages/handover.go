package messages

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// HandedOver is the result of HandOver, without messages that have ended or were moved.
type HandedOver struct {
	// Soon are the messages that the queue needs, with their generations. Confirm them once the
	// queue has them, otherwise they are due again Options.LookAfter later. The queue may get a
	// generation twice: it is the task's id.
	Soon []sendlimit.Timer
	// LookAfter are the entries of messages that the queue or a worker had already: see Renew.
	LookAfter []sendlimit.Timer
	// NotDue are entries that another caller took, or that are not due by the server's clock.
	NotDue []sendlimit.Timer
}

// HandOver takes due entries of one partition, at most MaxHandedOver. It completes ends that a torn
// log cut off, see Mend. A zero now means the server's clock.
func (w *WatchList) HandOver(ctx context.Context, entries []sendlimit.Timer, now time.Time) (found HandedOver, failed error) {
	const doing = "handing over messages that are due soon"
	if len(entries) == 0 {
		return found, nil
	}
	keys := []string{w.keys.Near(entries[0].User)}
	args := []any{script.Milliseconds(now), w.look.Milliseconds(), w.horizon.Milliseconds()}
	for _, entry := range entries {
		keys = append(keys, w.keys.Record(entry.User, entry.ID))
		args = append(args, keyspace.WatchMember(entry.User, entry.ID, entry.Generation))
	}
	in := script.Call(ctx, w.client, lua.HandOver, doing, keys, args)
	_ = in.Time(0)
	const isHanded, isGone, isToLookAfter, isNotDue, isUnfinished = 0, 1, 2, 3, 4
	var unfinished []Message
	for i, entry := range entries {
		due, origin := in.Time(2+4*i), sendlimit.Origin{Account: in.String(3 + 4*i), Campaign: in.String(4 + 4*i)}
		switch result := in.Int(1 + 4*i); {
		case in.Err != nil:
			return HandedOver{}, in.Err
		case result == isHanded:
			found.Soon = append(found.Soon, sendlimit.Timer{User: entry.User, ID: entry.ID, Generation: entry.Generation, Due: due, Origin: origin})
		case result == isToLookAfter:
			found.LookAfter = append(found.LookAfter, entry)
		case result == isNotDue:
			found.NotDue = append(found.NotDue, entry)
		case result == isUnfinished:
			unfinished = append(unfinished, Message{User: entry.User, ID: entry.ID})
		case result != isGone:
			return HandedOver{}, script.ReplyError(doing, fmt.Sprintf("result %d", result))
		}
	}
	for _, message := range unfinished {
		if _, err := w.mend(ctx, message, now); err != nil {
			return HandedOver{}, err
		}
	}
	return found, nil
}

// MaxHandedOver is how many entries a call of HandOver takes, in less than a millisecond of the
// store's time.
const MaxHandedOver = 100
