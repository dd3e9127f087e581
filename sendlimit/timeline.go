package sendlimit

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// DefaultKeepRecords is how long a record is kept after its message ended.
const DefaultKeepRecords = 7 * day

// DefaultExpireAfter is how long after its send time a message is dropped
// rather than sent.
const DefaultExpireAfter = day

// watchDelay is how long after a reserve or a move somebody looks whether the
// queue has the message.
const watchDelay = 10 * time.Second

// Options configure a Timeline and a Gate. The zero value is the default
// policy under the default prefix, places only.
type Options struct {
	Prefix string        // begins every key; "" means DefaultPrefix
	Policy Policy        // the rules; the zero value means DefaultPolicy
	Reach  time.Duration // how far ahead a send time may lie, at most DefaultReach, its default
	// Records keeps a record and a watch entry beside each place, for a queue
	// that delivers through a Gate.
	Records bool
	// KeepRecords is how long a record outlives its message; zero means
	// DefaultKeepRecords.
	KeepRecords time.Duration
	// ExpireAfter is how long after its send time a message without an expiry
	// of its own is dropped rather than sent; zero means DefaultExpireAfter.
	ExpireAfter time.Duration
}

// Timeline limits each user's messages by their send times, ahead of time:
// Reserve takes a place, Check only looks, Move and Release change what is
// taken, NextFree, List and Usage look around. Each is one script and one
// round trip, atomic, and safe for concurrent use by any number of processes.
//
// A free time that lies so far off that one call may not search for it without
// holding up the server is searched for in further calls.
//
// Every method returns an *InvalidError for an argument out of bounds, an
// *UnavailableError when the store did not answer, and ErrReply when it
// answered nonsense.
type Timeline struct {
	client  redis.Scripter
	keys    Keys
	rules   *ruleset
	reach   time.Duration
	records bool
	kept    time.Duration
	expire  time.Duration
}

// NewTimeline returns a timeline in the store behind client. The error is an
// *InvalidError.
func NewTimeline(client redis.Scripter, o Options) (*Timeline, error) {
	keys, err := NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.Policy.Name == "" && o.Policy.Rules == nil {
		o.Policy = DefaultPolicy()
	}
	rules, err := newRuleset(o.Policy)
	if err != nil {
		return nil, err
	}
	t := &Timeline{
		client: client, keys: keys, rules: rules, records: o.Records,
		reach:  cmp.Or(o.Reach, DefaultReach),
		kept:   cmp.Or(o.KeepRecords, DefaultKeepRecords),
		expire: cmp.Or(o.ExpireAfter, DefaultExpireAfter),
	}
	if t.reach < time.Second || t.reach > DefaultReach {
		return nil, &InvalidError{Field: "reach", Value: t.reach.String(), Want: "1 s to 366 days"}
	}
	if t.kept < time.Minute {
		return nil, &InvalidError{Field: "keep_records", Value: t.kept.String(), Want: "at least 1 minute"}
	}
	if t.expire < time.Second {
		return nil, &InvalidError{Field: "expire_after", Value: t.expire.String(), Want: "at least 1 s"}
	}
	return t, nil
}

// WithPolicy returns a timeline over the same reservations under other rules:
// what is reserved keeps its places.
func (t *Timeline) WithPolicy(p Policy) (*Timeline, error) {
	rules, err := newRuleset(p)
	if err != nil {
		return nil, err
	}
	changed := *t
	changed.rules = rules
	return &changed, nil
}

// Policy returns the rules the timeline judges by.
func (t *Timeline) Policy() Policy { return t.rules.policy }

// run calls a script and returns its reply, an array.
func run(ctx context.Context, client redis.Scripter, script *redis.Script, doing string, keys []string, args []any) (reply, error) {
	v, err := script.Run(ctx, client, keys, args...).Result()
	if err != nil {
		return nil, Unavailable(err, doing)
	}
	if r, ok := v.([]any); ok {
		return r, nil
	}
	return reply{v}, nil
}

// milliseconds is how the scripts are told a time: "" stands for none.
func milliseconds(at time.Time) any {
	if at.IsZero() {
		return ""
	}
	return at.UnixMilli()
}
