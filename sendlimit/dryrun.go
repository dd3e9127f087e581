package sendlimit

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// copiesStay is how long copies stay after their last use if the dry run dies before it removes
// them. The script that writes a copy sets this expiry in the same call.
const copiesStay = time.Hour

// DryRun is a dry run of many reserves. It judges each on a copy of the user's timeline, which
// it creates at the first use: earlier reserves of the dry run count, and nothing real changes.
// Close removes the copies.
type DryRun struct {
	client redis.Cmdable
	copied *Timeline

	mu      sync.Mutex
	touched map[int]struct{} // partitions that have copies
}

// StartDryRun starts a dry run on the timeline's reservations.
func (t *Timeline) StartDryRun(client redis.Cmdable) *DryRun {
	copied := *t
	copied.rules = t.rules.Frozen()
	copied.copyOf, copied.copiesStay = &t.keys, copiesStay
	copied.keys = keyspace.KeysUnder(t.keys.Prefix() + "-dry-" + keyspace.NewToken())
	return &DryRun{client: client, copied: &copied, touched: make(map[int]struct{})}
}

// Reserve returns what Timeline.Reserve would answer if everything that this dry run accepted
// before were reserved.
func (r *DryRun) Reserve(ctx context.Context, request Request) (Decision, error) {
	return r.on(ctx, request, "a dry run of a reserve", r.copied.Reserve)
}

// Check returns what Reserve would answer. It takes no place.
func (r *DryRun) Check(ctx context.Context, request Request) (Decision, error) {
	return r.on(ctx, request, "a dry run of a check", r.copied.Check)
}

// NextFree returns what Timeline.NextFree would answer. It takes no place.
func (r *DryRun) NextFree(ctx context.Context, request NextFreeRequest) ([]time.Time, error) {
	if err := r.copy(ctx, Request{User: request.User, ID: request.ID, Category: request.Category}, "a dry run of a search"); err != nil {
		return nil, err
	}
	return r.copied.NextFree(ctx, request)
}

// on judges a request on the copies.
func (r *DryRun) on(
	ctx context.Context, request Request, doing string, judge func(context.Context, Request) (Decision, error),
) (Decision, error) {
	request, err := r.copied.checked(request)
	if err != nil {
		return Decision{}, err
	}
	if err := r.copy(ctx, request, doing); err != nil {
		return Decision{}, err
	}
	return judge(ctx, request)
}

// copy creates the copies that a request needs, unless they exist.
func (r *DryRun) copy(ctx context.Context, request Request, doing string) error {
	r.mu.Lock()
	r.touched[keyspace.Partition(request.User)] = struct{}{}
	r.mu.Unlock()
	from, to := r.copied.copyOf, r.copied.keys
	keys := []string{
		from.Timeline(request.User), to.Timeline(request.User),
		from.Record(request.User, request.ID), to.Record(request.User, request.ID),
		to.Near(request.User), to.Copies(keyspace.Partition(request.User)), to.Uncounted(request.User),
		to.Far(request.User, request.ID),
	}
	if request.Category != "" {
		keys = append(keys, from.Category(request.User, request.Category), to.Category(request.User, request.Category))
	}
	for whole := false; !whole; {
		in := script.Call(ctx, r.client, lua.CopyForDryRun, doing, keys, []any{copiesStay.Milliseconds()})
		if whole = in.Int(0) == 1; in.Err != nil {
			return in.Err
		}
	}
	return nil
}

// Clear removes all copies: later requests are judged by the real reservations. No other call may
// run at the same time. If it fails, the next Clear removes the rest.
func (r *DryRun) Clear(ctx context.Context) error {
	const doing = "removing the copies of a dry run"
	const together = 64 // partitions a round trip
	r.mu.Lock()
	defer r.mu.Unlock()
	for partitions := range slices.Chunk(slices.Sorted(maps.Keys(r.touched)), together) {
		lists := make([]*redis.StringSliceCmd, len(partitions))
		_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, p := range partitions {
				lists[i] = pipe.HKeys(ctx, r.copied.keys.Copies(p))
			}
			return nil
		})
		if err != nil {
			return store.Explain(err, doing)
		}
		_, err = r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, p := range partitions {
				for _, key := range append(lists[i].Val(), r.copied.keys.Copies(p)) {
					pipe.Unlink(ctx, key)
				}
			}
			return nil
		})
		if err != nil {
			return store.Explain(err, doing)
		}
		for _, p := range partitions {
			delete(r.touched, p)
		}
	}
	return nil
}

// Close removes everything that the dry run left in the store.
func (r *DryRun) Close(ctx context.Context) error { return r.Clear(ctx) }
