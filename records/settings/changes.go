package settings

import (
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
	var last, changed, windows *redis.ZSliceCmd
	var texts *redis.SliceCmd
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		last = pipe.ZRevRangeWithScores(ctx, s.keys.PolicyChanges(), 0, 0)
		changed = pipe.ZRangeByScoreWithScores(ctx, s.keys.PolicyChanges(), &redis.ZRangeBy{
			Min: "(" + strconv.FormatInt(since, 10), Max: "+inf",
		})
		windows = pipe.ZRangeByScoreWithScores(ctx, s.keys.PolicyWindows(), &redis.ZRangeBy{Min: "-inf", Max: "(+inf"})
		if len(names) > 0 {
			texts = pipe.HMGet(ctx, s.keys.Policies(), names...) // after the changes: one meanwhile is seen by the next call
		}
		return nil
	})
	if err != nil {
		return Changes{}, store.Explain(err, "looking for changes of the policies")
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
