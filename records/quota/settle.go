package quota

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Settlement is the end of a hold.
type Settlement struct {
	Account string
	Attempt string
	Former  string // the attempt of the earlier charge, as in the Hold
	// Made reports that the change was made: the charge stays, and the earlier one is given back.
	// Otherwise the charge is given back, and the change must not be made any more.
	Made bool
}

// Settle ends holds in one round trip and returns the ids of the notices that this puts into the
// outbox. It ignores a hold that does not exist: one of several callers settles it. A zero now
// means the server's clock.
//
// After an error, unsettled holds become due. Settled ones are not settled again, and their notices
// are returned beside the error.
func (c *Charges) Settle(ctx context.Context, now time.Time, holds ...Settlement) (notices []string, err error) {
	var all []settleCall
	for _, s := range holds {
		all = s.appendCalls(all)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return c.settleAll(ctx, now, all)
}

// settleCall is a hold to settle, by its call and its letter.
type settleCall struct {
	partition    int
	call, letter string
	made         bool
}

// appendCalls appends the holds of an attempt.
func (s Settlement) appendCalls(calls []settleCall) []settleCall {
	token, letter := splitAttempt(s.Attempt)
	if s.Account != "" {
		calls = append(calls, settleCall{keyspace.Partition(s.Account), token, letter, s.Made})
	}
	throttle, former := chargedBy(s.Attempt).throttle, chargedBy(s.Former).throttle
	if throttle != "" {
		calls = append(calls, settleCall{keyspace.Partition(subjectOf(throttle)), token + ofThrottle, letter, s.Made})
	}
	if former != "" && former != throttle {
		calls = append(calls, settleCall{keyspace.Partition(subjectOf(former)), token + ofFormer, letter, s.Made})
	}
	return calls
}

// settleTogether is how many holds a call settles at most, since other calls wait for it.
const settleTogether = 256

// settleGroup has holds of one partition for one script.
type settleGroup struct {
	partition    int
	made, unmade []byte
}

// groupCalls groups holds by partition and call.
func groupCalls(holds []settleCall) []*settleGroup {
	first := make(map[string]int) // hold of a call
	for i, s := range holds {
		if _, known := first[s.call]; !known {
			first[s.call] = i
		}
	}
	slices.SortStableFunc(holds, func(a, b settleCall) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(first[a.call], first[b.call]))
	})
	var groups []*settleGroup
	for some := range slices.Chunk(holds, settleTogether) {
		var g *settleGroup
		for _, s := range some {
			if g == nil || g.partition != s.partition {
				g = &settleGroup{partition: s.partition}
				groups = append(groups, g)
			}
			if s.made {
				g.made = s.appendTo(g.made)
			} else {
				g.unmade = s.appendTo(g.unmade)
			}
		}
	}
	return groups
}

// appendTo appends a hold to others. Holds of its call must be last.
func (s settleCall) appendTo(names []byte) []byte {
	last := names[bytes.LastIndexByte(names, ' ')+1:]
	if call, _, found := bytes.Cut(last, []byte("/")); found && string(call) == s.call {
		return append(names, s.letter...)
	}
	return append(append(append(append(names, ' '), s.call...), '/'), s.letter...)
}

func (c *Charges) settleAll(ctx context.Context, now time.Time, holds []settleCall) (notices []string, err error) {
	const doing = "settling charges"
	groups := groupCalls(holds)
	replies := script.Each(ctx, c.client, lua.SettleHold, doing, len(groups), func(i int) ([]string, []any) {
		return c.settleCall(groups[i], now)
	})
	for _, in := range replies {
		_, _, raised, failed := settled(in)
		notices, err = append(notices, raised...), cmp.Or(err, failed)
	}
	return notices, err
}

func (c *Charges) settleCall(g *settleGroup, now time.Time) ([]string, []any) {
	return []string{c.keys.HoldsOf(g.partition)}, []any{
		script.Milliseconds(now), c.keys.Partitions[g.partition], g.made, g.unmade,
	}
}

// settled reads the reply of lua/charge/settle_hold.lua: how many holds were settled with and
// without their change, and the ids of the notices.
func settled(in *script.ReplyReader) (made, unmade int, notices []string, err error) {
	made, unmade = int(in.Int(0)), int(in.Int(1))
	_ = in.Time(2)
	return made, unmade, in.Strings(3), in.Err
}
