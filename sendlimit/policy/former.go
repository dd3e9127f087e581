package policy

import (
	"fmt"
	"strconv"
	"time"
)

// FormerWindow is for how long places counted by rules that were replaced or removed. They may come
// back. So places are kept for that long until such a place matters no more.
type FormerWindow struct {
	Keeps time.Duration // see Policy.Keeps
	Until time.Time     // Keeps after the rules were replaced
}

// At returns for how long places count at a time; 0 if the window matters no more.
func (w FormerWindow) At(now time.Time) time.Duration {
	if w.Until.After(now) {
		return w.Keeps
	}
	return 0
}

// parseFormer parses a former window: how long it keeps places in ms, and its end in Unix ms.
func parseFormer(keeps, until string) (FormerWindow, error) {
	length, err := strconv.ParseInt(keeps, 10, 64)
	if err != nil {
		return FormerWindow{}, fmt.Errorf("a former window: %w", err)
	}
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return FormerWindow{}, fmt.Errorf("a former window: %w", err)
	}
	return FormerWindow{Keeps: time.Duration(length) * time.Millisecond, Until: time.UnixMilli(end)}, nil
}
