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
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// DueCall is a call with holds that were not settled in time.
type DueCall struct {
	Since time.Time // when it became due

	call      string
	partition int
}

// Due lists the calls with due holds, oldest first, at most perPartition of each partition, in a
// few round trips. With an error it still returns what it could read.
func (c *Charges) Due(ctx context.Context, now time.Time, perPartition int) ([]DueCall, error) {
	const doing = "reading the charges that are not settled"
	var due []DueCall
	_, failed := script.EachDue(ctx, c.client, doing, c.keys.HoldsOf, now, c.ahead, perPartition,
		func(partition int, call string, since time.Time) bool { // every name is valid
			due = append(due, DueCall{Since: since, call: call, partition: partition})
			return true
		})
	slices.SortStableFunc(due, func(a, b DueCall) int { return a.Since.Compare(b.Since) })
	return due, failed
}

// HoldEnd is the end of a hold, as Resolve finds it.
type HoldEnd uint8

// Ends of a hold.
const (
	HoldOpen      HoldEnd = iota // the change may still be made: it is due again
	HoldCharged                  // the change was made
	HoldGivenBack                // the change was not made, and will not be
	HoldGone                     // another caller has settled it
)

// String returns the end for metrics.
func (e HoldEnd) String() string {
	names := [...]string{"open", "charged", "given_back", "gone"}
	if int(e) < len(names) {
		return names[e]
	}
	return "end(" + strconv.Itoa(int(e)) + ")"
}

// Resolve settles the holds of a due call by the records of their messages, and returns their ends,
// and the ids of the notices that this puts into the outbox. A zero now means the clock of each
// message's server. A missing change counts as never made only some time after it was due, since
// that clock may have been set back a little.
func (c *Charges) Resolve(ctx context.Context, due DueCall, now time.Time) (ends []HoldEnd, notices []string, err error) {
	const doing = "looking after a charge"
	text, err := c.client.Get(ctx, c.keys.HoldsOfCall(due.partition, due.call)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, store.Explain(err, doing)
	}
	holds := []settleCall{{due.partition, due.call, letters[:1], false}} // an ended one, if all have ended
	if text != "" && text != settledCall {
		holds, ends, err = c.resolveEach(ctx, due, text, now)
		if err != nil || len(holds) == 0 {
			return ends, nil, err
		}
	}
	keys, args := c.settleCall(groupCalls(holds)[0], now)
	made, unmade, notices, err := settled(script.Call(ctx, c.client, lua.SettleHold, doing, keys, args))
	if err != nil {
		return ends, notices, err
	}
	ends = append(ends, slices.Repeat([]HoldEnd{HoldCharged}, made)...)
	ends = append(ends, slices.Repeat([]HoldEnd{HoldGivenBack}, unmade)...)
	return append(ends, slices.Repeat([]HoldEnd{HoldGone}, max(len(holds)-made-unmade, 0))...), notices, err
}

// resolveEach resolves each open hold of a call. It returns those to settle, and a HoldOpen for
// each other one.
func (c *Charges) resolveEach(
	ctx context.Context, due DueCall, text string, now time.Time,
) (holds []settleCall, open []HoldEnd, err error) {
	const doing = "looking after a charge"
	states, whose, notAfter, err := readHolds(text, doing)
	if err != nil {
		return nil, nil, err
	}
	token, _ := splitAttempt(due.call)
	for i := range states {
		if !strings.Contains(letters, states[i:i+1]) {
			continue // it is not open
		}
		id, user, _ := strings.Cut(whose[i], " ")
		in := script.Call(ctx, c.client, lua.HoldLook, doing, []string{c.keys.Record(user, id)}, []any{script.Milliseconds(now)})
		looked, attempts := in.Time(0), strings.Fields(in.String(1)) // the first is the account
		if in.Err != nil {
			return nil, nil, in.Err
		}
		made := len(attempts) > 1 && slices.ContainsFunc(attempts[1:], func(attempt string) bool {
			return strings.HasPrefix(attempt, token+letters[i:i+1])
		})
		if made || looked.After(notAfter.Add(c.within)) {
			holds = append(holds, settleCall{due.partition, due.call, letters[i : i+1], made})
		} else {
			open = append(open, HoldOpen)
		}
	}
	return holds, open, nil
}

// settledCall is a call without an open hold, see lua/fragments/charge.lua.
const settledCall = "."

// readHolds reads a call with open holds: the state of each, its message and user, and the time
// limit of the changes.
func readHolds(text, doing string) (states string, whose []string, notAfter time.Time, err error) {
	lines := strings.Split(text, "\n")
	first := strings.Fields(lines[0])
	if len(first) < 2 || len(first[0]) > len(letters) || len(lines) != 4+len(first[0]) {
		return "", nil, notAfter, script.ReplyError(doing, fmt.Sprintf("the holds of a call have %d lines", len(lines)))
	}
	ms, err := strconv.ParseInt(first[1], 10, 64)
	if err != nil {
		return "", nil, notAfter, script.ReplyError(doing, "the holds of a call do not begin with a time")
	}
	return first[0], lines[3:], time.UnixMilli(ms).UTC(), nil
}
