package tasks

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// followEvery is how old the rules that a process goes by may get.
const followEvery = 2 * time.Second

// rules follows the policy in the store, the only place it lives: whoever asks
// for the limiters gets them under rules that are at most followEvery old.
type rules struct {
	client  redis.UniversalClient
	store   *sendlimit.PolicyStore
	name    string
	options sendlimit.Options // but for the policy
	local   func() time.Time

	loading sync.Mutex
	current atomic.Pointer[limiters]
}

// limiters are the timeline and the gate under one policy.
type limiters struct {
	timeline *sendlimit.Timeline
	gate     *sendlimit.Gate
	loaded   time.Time
}

func newRules(client redis.UniversalClient, name string, o sendlimit.Options) (*rules, error) {
	store, err := sendlimit.NewPolicyStore(client, o.Prefix)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = sendlimit.DefaultPolicyName
	}
	o.Records = true
	if _, err := sendlimit.NewTimeline(client, o); err != nil {
		return nil, err
	}
	return &rules{client: client, store: store, name: name, options: o, local: newClock().local}, nil
}

// limiters returns the limiters under the store's rules. The first caller who
// finds them old loads them; others go on with what there is meanwhile. Where
// there is nothing yet every caller loads, so that none waits for another's
// attempt to reach the store.
func (r *rules) limiters(ctx context.Context) (*limiters, error) {
	known := r.current.Load()
	if known == nil {
		return r.load(ctx, nil)
	}
	if r.local().Sub(known.loaded) < followEvery || !r.loading.TryLock() {
		return known, nil
	}
	defer r.loading.Unlock()
	return r.load(ctx, known)
}

func (r *rules) load(ctx context.Context, known *limiters) (*limiters, error) {
	policy, ok, err := r.store.Load(ctx, r.name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &sendlimit.UnavailableError{
			Detail: "the store has no rules yet: start a worker on it, or give it some with worker policy apply FILE",
		}
	}
	fresh := &limiters{loaded: r.local()}
	if known != nil && reflect.DeepEqual(known.timeline.Policy(), policy) {
		fresh.timeline, fresh.gate = known.timeline, known.gate
	} else {
		o := r.options
		o.Policy = policy
		if fresh.timeline, err = sendlimit.NewTimeline(r.client, o); err != nil {
			return nil, err
		}
		if fresh.gate, err = sendlimit.NewGate(r.client, o); err != nil {
			return nil, err
		}
	}
	r.current.Store(fresh)
	return fresh, nil
}
