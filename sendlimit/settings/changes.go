package settings

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// changeLasts is longer than any change of a policy takes.
const changeLasts = time.Hour

// changing announces a change of a policy, makes it, and tells the programs that follow
// the policies. What it changes may be in another slot than the announcement. The change returns
// the text of the policy before it. For how long places counted for that is noted before and
// after: the program may die in between, and another one may have changed the policy meanwhile.
func (s *Policies) changing(ctx context.Context, name, doing string, change func() (before string, err error)) error {
	present, err := s.client.Get(ctx, s.keys.Policy(name)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return store.Explain(err, doing)
	}
	token := keyspace.NewToken()
	keys := []string{s.keys.PolicyChanging(), s.keys.PolicyWindows()}
	args := []any{name, token, changeLasts.Milliseconds(), keepsMs(present)}
	if _, err := script.Run(ctx, s.client, lua.PolicyChanging, doing, keys, args); err != nil {
		return err
	}
	before, err := change()
	if err != nil {
		return err // it may have been made, and stays announced
	}
	keys = []string{s.keys.PolicyChanges(), s.keys.PolicyChanging(), s.keys.PolicyWindows()}
	_, err = script.Run(ctx, s.client, lua.PolicyChanged, doing, keys, []any{name, token, keepsMs(before)})
	return err
}

// Changes says which policies have changed since a number of changes.
type Changes struct {
	Names []string // sorted; also those that are being changed
	Last  int64    // the number of the last change
	// Lost is set if the store has fewer changes than since: it lost some, or was
	// replaced. Then any policy may have changed.
	Lost bool
	// Windows are those of former policies that places are still kept for, see Former. Some may
	// be over.
	Windows []policy.FormerWindow
}

// Changed returns the policies that were stored or deleted since a number of changes, which
// is Changes.Last of an earlier call. It sees each change that was made before the call. It
// takes one round trip, and reads no policies.
func (s *Policies) Changed(ctx context.Context, since int64) (Changes, error) {
	var underWay *redis.StringSliceCmd
	var last, changed, windows *redis.ZSliceCmd
	// In this order: a change that ends in between is among the changes made.
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		underWay = pipe.ZRange(ctx, s.keys.PolicyChanging(), 0, -1)
		last = pipe.ZRevRangeWithScores(ctx, s.keys.PolicyChanges(), 0, 0)
		changed = pipe.ZRangeByScoreWithScores(ctx, s.keys.PolicyChanges(), &redis.ZRangeBy{
			Min: "(" + strconv.FormatInt(since, 10), Max: "+inf",
		})
		windows = pipe.ZRangeWithScores(ctx, s.keys.PolicyWindows(), 0, -1)
		return nil
	})
	if err != nil {
		return Changes{}, store.Explain(err, "looking for changes of the policies")
	}
	c := Changes{Windows: readWindows(windows.Val())}
	for _, member := range underWay.Val() {
		name, _, _ := strings.Cut(member, "/")
		c.Names = append(c.Names, name)
	}
	if newest := last.Val(); len(newest) > 0 {
		c.Last = int64(newest[0].Score)
	}
	c.Lost = c.Last < since
	for _, z := range changed.Val() {
		name, _ := z.Member.(string) // the client gives nothing else
		c.Names = append(c.Names, name)
		c.Last = max(c.Last, int64(z.Score))
	}
	slices.Sort(c.Names)
	c.Names = slices.Compact(c.Names)
	return c, nil
}
