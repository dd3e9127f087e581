package settings

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Changes are the changes of policies since a number of changes.
type Changes struct {
	Names []string // sorted
	Last  int64    // the number of the last change
	// Lost is set if the store has fewer changes than since: it lost some, or was replaced. Then
	// any policy may have changed.
	Lost bool
	// Named are the policies that the call asked for, and Unreadable as of Named.
	Named      []policy.Policy
	Unreadable []string
	// Windows are those of former policies for which places are still kept, see Former. Some may be
	// over.
	Windows []policy.FormerWindow
}

// Changed returns the policies that were stored or deleted since a number of changes, Changes.Last
// of an earlier call, and the policies with some names, as Named does. It takes one round trip.
func (s *Policies) Changed(ctx context.Context, since int64, names ...string) (Changes, error) {
	pipe := s.client.Pipeline()
	load := s.Ask(ctx, pipe, since, names...)
	if _, err := pipe.Exec(ctx); err != nil {
		return Changes{}, store.Explain(err, changing)
	}
	return load()
}

const changing = "looking for changes of the policies"

// Ask adds the reads of Changed to a pipeline, and returns the function that loads the replies.
func (s *Policies) Ask(ctx context.Context, pipe redis.Cmdable, since int64, names ...string) (load func() (Changes, error)) {
	last := pipe.ZRevRangeWithScores(ctx, s.keys.PolicyChanges(), 0, 0)
	changed := pipe.ZRangeByScoreWithScores(ctx, s.keys.PolicyChanges(), &redis.ZRangeBy{
		Min: "(" + strconv.FormatInt(since, 10), Max: "+inf",
	})
	windows := pipe.ZRangeByScoreWithScores(ctx, s.keys.PolicyWindows(), &redis.ZRangeBy{Min: "-inf", Max: "(+inf"})
	var texts *redis.SliceCmd
	if len(names) > 0 {
		texts = pipe.HMGet(ctx, s.keys.Policies(), names...) // after the changes: one meanwhile is seen by the next call
	}
	return func() (Changes, error) { return readChanges(since, names, last, changed, windows, texts) }
}

func readChanges(since int64, names []string, last, changed, windows *redis.ZSliceCmd, texts *redis.SliceCmd) (Changes, error) {
	failed := cmp.Or(last.Err(), changed.Err(), windows.Err())
	if texts != nil {
		failed = cmp.Or(failed, texts.Err())
	}
	if failed != nil {
		return Changes{}, store.Explain(failed, changing)
	}
	c := Changes{Windows: readWindows(windows.Val())}
	if texts != nil {
		c.Named, c.Unreadable = readNamed(names, texts.Val())
	}
	if newest := last.Val(); len(newest) > 0 {
		c.Last = int64(newest[0].Score)
	}
	c.Lost = c.Last < since
	for _, z := range changed.Val() {
		name, _ := z.Member.(string) // it is always a string
		c.Names = append(c.Names, name)
		c.Last = max(c.Last, int64(z.Score))
	}
	slices.Sort(c.Names)
	return c, nil
}
