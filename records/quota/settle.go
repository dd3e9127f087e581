package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Settlement says how a hold ends.
type Settlement struct {
	Account string
	Attempt string
	Former  string // the attempt that charged the message before, as in the Hold
	// Made says that the change was made: the charge stays, and what the message
	// was charged before is given back. Otherwise the charge is given back, and
	// the change must not be made any more.
	Made bool
}

// Settle ends holds in one round trip and returns the ids of the notices that
// this puts into the outbox. It ignores a hold that does not exist, or no longer:
// of several callers one settles it. A zero now means the server's clock.
//
// After an error, holds that were not settled become due. Those that were settled
// are not settled again, and their notices are returned beside the error.
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

// settleCall is a hold to be settled, by its name in its partition.
type settleCall struct {
	partition int
	hold      string
	made      bool
}

// appendCalls appends the holds of an attempt.
func (s Settlement) appendCalls(calls []settleCall) []settleCall {
	if s.Account != "" {
		calls = append(calls, settleCall{keyspace.Partition(s.Account), s.Attempt, s.Made})
	}
	throttle, former := chargedBy(s.Attempt).throttle, chargedBy(s.Former).throttle
	if throttle != "" {
		calls = append(calls, settleCall{keyspace.Partition(subjectOf(throttle)), s.Attempt + ofThrottle, s.Made})
	}
	if former != "" && former != throttle {
		calls = append(calls, settleCall{keyspace.Partition(subjectOf(former)), s.Attempt + ofFormer, s.Made})
	}
	return calls
}

// settleTogether is how many holds a script settles in one call, which others wait for.
const settleTogether = 64

// settleGroup has holds of one partition, settled by one script.
type settleGroup struct {
	partition    int
	made, unmade []string
}

// groupCalls groups holds by their partitions.
func groupCalls(holds []settleCall) []*settleGroup {
	var groups []*settleGroup
	open := make(map[int]*settleGroup)
	for _, s := range holds {
		g := open[s.partition]
		if g == nil || len(g.made)+len(g.unmade) == settleTogether {
			g = &settleGroup{partition: s.partition}
			groups, open[s.partition] = append(groups, g), g
		}
		if s.made {
			g.made = append(g.made, s.hold)
		} else {
			g.unmade = append(g.unmade, s.hold)
		}
	}
	return groups
}

func (c *Charges) settleAll(ctx context.Context, now time.Time, holds []settleCall) (notices []string, err error) {
	const doing = "settling charges"
	groups := groupCalls(holds)
	calls := make([]*redis.Cmd, len(groups))
	_, err = c.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, g := range groups {
			keys, args := c.settleCall(g, now)
			calls[i] = pipe.EvalSha(ctx, lua.SettleHold.Hash(), keys, args...)
		}
		return nil
	})
	if err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = store.Explain(err, doing)
	} else {
		err = nil
	}
	for i, call := range calls {
		var answer script.Reply
		var failed error
		switch v, problem := call.Result(); {
		case redis.HasErrorPrefix(problem, "NOSCRIPT"): // a pipeline does not load it
			keys, args := c.settleCall(groups[i], now)
			answer, failed = script.Run(ctx, c.client, lua.SettleHold, doing, keys, args)
		case problem != nil:
			failed = store.Explain(problem, doing)
		default:
			answer, _ = v.([]any)
		}
		if failed != nil {
			err = firstError(err, failed)
			continue
		}
		_, raised, problem := settled(answer, doing)
		notices = append(notices, raised...)
		err = firstError(err, problem)
	}
	return notices, err
}

// firstError returns the first of two errors that is not nil.
func firstError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

func (c *Charges) settleCall(g *settleGroup, now time.Time) ([]string, []any) {
	return []string{c.keys.HoldsOf(g.partition)}, []any{
		script.Milliseconds(now), c.keys.Partitions[g.partition], strings.Join(g.made, " "), strings.Join(g.unmade, " "),
	}
}

// settled reads the reply of lua/charge/settle_hold.lua: how many holds this call settled,
// and the ids of the notices.
func settled(answer script.Reply, doing string) (count int64, notices []string, err error) {
	in := script.Read(answer, doing)
	count = in.Int(0)
	_ = in.Time(1)
	return count, in.Strings(2), in.Err
}

// DueHold is a hold that was not settled in time.
type DueHold struct {
	Attempt string    // with which of its holds it is
	Since   time.Time // when it became due

	partition int
}

// Turn reports whether it is time to look for due holds: no caller did within lasts. One of
// several callers gets the turn.
func (c *Charges) Turn(ctx context.Context, lasts time.Duration) (bool, error) {
	return turn.Take(ctx, c.client, c.keys.Turn(keyspace.WorkCharges), lasts)
}

// Due lists the holds that are due at now, oldest first, at most perPartition of
// each partition, in a few round trips. Beside an error it returns what it could
// read.
func (c *Charges) Due(ctx context.Context, now time.Time, perPartition int) ([]DueHold, error) {
	const doing = "reading the charges that are not settled"
	var due []DueHold
	_, failed := script.EachDue(ctx, c.client, doing, c.keys.HoldsOf, now, c.ahead, perPartition,
		func(partition int, attempt string, since time.Time) bool { // every name is an attempt's
			due = append(due, DueHold{Attempt: attempt, Since: since, partition: partition})
			return true
		})
	slices.SortStableFunc(due, func(a, b DueHold) int { return a.Since.Compare(b.Since) })
	return due, failed
}

// HoldEnd is what Resolve found out about a hold.
type HoldEnd uint8

// Ends of a hold.
const (
	HoldOpen      HoldEnd = iota // the change may still be made: it is due again
	HoldCharged                  // the change was made
	HoldGivenBack                // the change was not made, and will not be
	HoldGone                     // another caller has settled it
)

// String returns the end as metrics show it.
func (e HoldEnd) String() string {
	switch e {
	case HoldOpen:
		return "open"
	case HoldCharged:
		return "charged"
	case HoldGivenBack:
		return "given_back"
	case HoldGone:
		return "gone"
	default:
		return "end(" + strconv.Itoa(int(e)) + ")"
	}
}

// Resolve settles a due hold by what the record of its message says, and returns
// the ids of the notices that this puts into the outbox. A zero now means the
// clock of the message's server. A change that was not made counts as never made
// only some time after it was due: that clock may have been set back a little.
func (c *Charges) Resolve(ctx context.Context, due DueHold, now time.Time) (HoldEnd, []string, error) {
	const doing = "looking after a charge"
	text, err := c.client.Get(ctx, c.keys.HoldOf(due.partition, due.Attempt)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return HoldOpen, nil, store.Explain(err, doing)
	}
	made := false
	if text != "" && text != settledHold { // otherwise it was settled by now
		user, id, notAfter, err := readHold(text, doing)
		if err != nil {
			return HoldOpen, nil, err
		}
		answer, err := script.Run(ctx, c.client, lua.HoldLook, doing, []string{c.keys.Record(user, id)}, []any{script.Milliseconds(now)})
		if err != nil {
			return HoldOpen, nil, err
		}
		in := script.Read(answer, doing)
		looked, attempts := in.Time(0), strings.Fields(in.String(1))
		if in.Err != nil {
			return HoldOpen, nil, in.Err
		}
		made = len(attempts) > 1 && slices.Contains(attempts[1:], attemptOf(due.Attempt))
		if !made && !looked.After(notAfter.Add(c.within)) {
			return HoldOpen, nil, nil
		}
	}
	keys, args := c.settleCall(groupCalls([]settleCall{{due.partition, due.Attempt, made}})[0], now)
	answer, err := script.Run(ctx, c.client, lua.SettleHold, doing, keys, args)
	if err != nil {
		return HoldOpen, nil, err
	}
	count, notices, err := settled(answer, doing)
	switch {
	case err != nil:
		return HoldOpen, notices, err
	case count == 0:
		return HoldGone, notices, nil
	case made:
		return HoldCharged, notices, nil
	default:
		return HoldGivenBack, notices, nil
	}
}

// settledHold is what a settled hold is, see lua/fragments/charge.lua.
const settledHold = "s"

// readHold reads the message and the end of an open hold.
func readHold(text, doing string) (user, id string, notAfter time.Time, err error) {
	const words, ofID = 15, 13 // the last is the user, which may have spaces
	in := strings.SplitN(text, " ", words)
	if len(in) != words {
		return "", "", notAfter, script.ReplyError(doing, fmt.Sprintf("a hold has %d of %d words", len(in), words))
	}
	ms, err := strconv.ParseInt(in[0], 10, 64)
	if err != nil {
		return "", "", notAfter, script.ReplyError(doing, "a hold does not begin with a time")
	}
	return in[words-1], in[ofID], time.UnixMilli(ms).UTC(), nil
}
