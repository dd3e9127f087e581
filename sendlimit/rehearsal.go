package sendlimit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
)

// copiesStay is how long a dry run's copies stay after its last use if it
// dies before it can remove them.
const copiesStay = time.Hour

// Rehearsal is a dry run of many reserves: each is judged on a copy of its
// user's timeline, made when it is first needed, so that earlier ones count
// and nothing real changes. Close removes the copies.
type Rehearsal struct {
	client redis.Cmdable
	keys   Keys // of what is real
	copied *Timeline
}

// Rehearse begins a dry run over the timeline's reservations.
func (t *Timeline) Rehearse(client redis.Cmdable) *Rehearsal {
	copied := *t
	copied.rules = t.rules.withoutAlerts()
	copied.keys = keysUnder(t.keys.prefix + "-dry-" + NewGeneration())
	return &Rehearsal{client: client, keys: t.keys, copied: &copied}
}

// Reserve answers what Timeline.Reserve would have answered if all that this
// rehearsal accepted before had been reserved.
func (r *Rehearsal) Reserve(ctx context.Context, request Request) (Decision, error) {
	return r.on(ctx, request, "rehearsing a reserve", r.copied.Reserve)
}

// Check says what Reserve would answer, and takes no place.
func (r *Rehearsal) Check(ctx context.Context, request Request) (Decision, error) {
	return r.on(ctx, request, "rehearsing a check", r.copied.Check)
}

// on has a request judged on the copies, which it makes where there are none yet.
func (r *Rehearsal) on(
	ctx context.Context, request Request, doing string, judge func(context.Context, Request) (Decision, error),
) (Decision, error) {
	if err := r.copied.checkRequest(request); err != nil {
		return Decision{}, err
	}
	to := r.copied.keys
	timeline, record, watch := to.Timeline(request.User), to.Record(request.User, request.ID), to.Watch(request.User)
	_, err := run(ctx, r.client, lua.Rehearse, doing, []string{
		r.keys.Timeline(request.User), timeline, r.keys.Record(request.User, request.ID), record, watch,
		to.copies(Partition(request.User)),
	}, []any{copiesStay.Milliseconds()})
	if err != nil {
		return Decision{}, err
	}
	d, err := judge(ctx, request)
	if err != nil {
		return Decision{}, err
	}
	_, err = r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range []string{timeline, record, watch} {
			pipe.PExpire(ctx, key, copiesStay)
		}
		return nil
	})
	return d, Unavailable(err, doing)
}

// Close removes all that the rehearsal left in the store.
func (r *Rehearsal) Close(ctx context.Context) error {
	const doing = "removing the copies of a dry run"
	const together = 64 // partitions a round trip
	for first := 0; first < Partitions; first += together {
		lists := make([]*redis.StringSliceCmd, together)
		_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range lists {
				lists[i] = pipe.SMembers(ctx, r.copied.keys.copies(first+i))
			}
			return nil
		})
		if err != nil {
			return Unavailable(err, doing)
		}
		_, err = r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, list := range lists {
				for _, key := range append(list.Val(), r.copied.keys.copies(first+i)) {
					pipe.Unlink(ctx, key)
				}
			}
			return nil
		})
		if err != nil {
			return Unavailable(err, doing)
		}
	}
	return nil
}
