package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// lookForEviction reports whether the store deletes messages, and looks for what it has lost if its
// servers have evicted keys since a relay looked last. The submitters of all programs look for
// themselves, and refuse messages meanwhile. The error is also that of a server that does not answer.
func (r *Relay) lookForEviction(ctx context.Context, every time.Duration) error {
	servers, silent := store.ReadMemory(ctx, r.Client)
	r.tellEviction(ctx, servers, silent)
	return errors.Join(silent, r.lookForLosses(ctx, servers, every))
}

// lookForLosses looks for what is lost if servers have evicted keys since a relay looked last.
func (r *Relay) lookForLosses(ctx context.Context, servers []store.Memory, every time.Duration) error {
	evicted := int64(0)
	for _, m := range servers {
		evicted += m.Evicted
	}
	if evicted == r.evicted {
		return nil // also zero: the store has nothing to note
	}
	grown, err := store.NewEvictions(ctx, r.Client, r.Keys, servers)
	if err != nil {
		return err
	}
	if len(grown) == 0 {
		r.evicted = evicted
		return nil
	}
	mine, err := r.Turns.Take(ctx, keyspace.WorkLosses, every)
	if err != nil || !mine {
		return err // the next look asks again
	}
	if err := r.findLosses(ctx, grown); err != nil {
		return err
	}
	if err := store.NoteEvictions(ctx, r.Client, r.Keys, grown); err != nil {
		return err
	}
	r.evicted = evicted
	return nil
}

// tellEviction logs when the store begins to evict, and when it no longer does. A server that does not
// answer may still be the one that evicts, and submits stay refused.
func (r *Relay) tellEviction(ctx context.Context, servers []store.Memory, silent error) {
	evicts := ""
	if refusal := store.RefuseEviction(servers...); refusal != nil {
		evicts = refusal.Error()
	}
	switch {
	case evicts == "" && silent != nil:
		return
	case evicts != "" && evicts != r.evicts:
		r.Logger.ErrorContext(ctx, "the store deletes keys when its memory is full, so nothing is accepted", "detail", evicts)
	case evicts == "" && r.evicts != "" && len(servers) > 0:
		r.Logger.InfoContext(ctx, "the store deletes no keys any more: messages are accepted again")
	}
	r.evicts = evicts
}

// findLosses looks for what is lost after servers have evicted keys, and reports it. The ids are
// logged at level debug only.
func (r *Relay) findLosses(ctx context.Context, servers []store.Memory) error {
	found, err := r.Places.FindLosses(ctx, r.Watch, r.throttle, r.Clock.Now())
	r.tellFreed(ctx, found.Freed)
	r.Metrics.LostMessages(found.Messages)
	if !found.None() {
		r.Logger.ErrorContext(ctx, "the store has evicted keys, and accepted messages are lost: submit them again, as from their files",
			"servers", len(servers), "lost_at_least", found.Messages, "users", found.Users,
			"partitions", partitionNames(found.Partitions), "missing_in_watch_list", found.Unwatched, "without_place", found.Unplaced)
	} else if err == nil {
		r.Logger.WarnContext(ctx, "the store has evicted keys. Those that are left show no lost message, but one that lost all its keys leaves no trace:"+
			" submit again what was to be sent", "servers", len(servers))
	}
	for _, m := range found.Some {
		r.Logger.DebugContext(ctx, "a message is lost", "user", m.User, "id", m.ID)
	}
	return err
}

// partitionNames names some partitions, and says how many others there are.
func partitionNames(partitions []int) string {
	const most = 20
	names := make([]string, 0, most)
	for _, partition := range partitions[:min(len(partitions), most)] {
		names = append(names, fmt.Sprintf("p%04d", partition))
	}
	text := strings.Join(names, " ")
	if more := len(partitions) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
