package settings

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Former returns the longest window that still matters at a time; 0 for none.
func Former(windows []policy.FormerWindow, now time.Time) (longest time.Duration) {
	for _, w := range windows {
		longest = max(longest, w.At(now))
	}
	return longest
}

// readWindows reads the former windows of lua/fragments/policy_change.lua.
func readWindows(list []redis.Z) []policy.FormerWindow {
	windows := make([]policy.FormerWindow, 0, len(list))
	for _, z := range list {
		member, _ := z.Member.(string) // it is always a string
		if keeps, err := strconv.ParseInt(member, 10, 64); err == nil {
			windows = append(windows, policy.FormerWindow{
				Keeps: time.Duration(keeps) * time.Millisecond, Until: time.UnixMilli(int64(z.Score)),
			})
		}
	}
	return windows
}
