package settings

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Former returns the longest of some windows that still matter at a time; 0 if none does.
func Former(windows []policy.FormerWindow, now time.Time) (longest time.Duration) {
	for _, w := range windows {
		longest = max(longest, w.At(now))
	}
	return longest
}

// keepsMs returns for how long places count for the policy in a text, ms; 0 for no text. It is the
// longest there is for one that only a newer program can read.
func keepsMs(text string) int64 {
	if text == "" {
		return 0
	}
	p, err := readPolicy(text)
	if err != nil {
		return policy.MostKept.Milliseconds()
	}
	return p.Keeps().Milliseconds()
}

// readWindows reads the set of lua/fragments/former_window.lua.
func readWindows(list []redis.Z) []policy.FormerWindow {
	windows := make([]policy.FormerWindow, 0, len(list))
	for _, z := range list {
		member, _ := z.Member.(string) // the client gives nothing else
		if keeps, err := strconv.ParseInt(member, 10, 64); err == nil {
			windows = append(windows, policy.FormerWindow{
				Keeps: time.Duration(keeps) * time.Millisecond, Until: time.UnixMilli(int64(z.Score)),
			})
		}
	}
	return windows
}

// keptFor returns for how long places count that a policy is to look back at: as the other policies
// and former ones need. It is 0 without any.
func (s *Policies) keptFor(ctx context.Context) (kept time.Duration, now time.Time, err error) {
	const doing = "looking for the windows of policies"
	policies, _, err := s.All(ctx)
	if err != nil {
		return 0, now, err
	}
	if now, err = s.client.Time(ctx).Result(); err != nil {
		return 0, now, store.Explain(err, doing)
	}
	list, err := s.client.ZRangeWithScores(ctx, s.keys.PolicyWindows(), 0, -1).Result()
	if err != nil {
		return 0, now, store.Explain(err, doing)
	}
	kept = Former(readWindows(list), now)
	for _, p := range policies {
		kept = max(kept, p.Keeps())
	}
	return kept, now, nil
}
