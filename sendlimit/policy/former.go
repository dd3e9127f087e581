package policy

import (
	"fmt"
	"strconv"
	"time"
)

// FormerWindow is how long places counted under rules that were replaced or removed. The rules may
// return, so places are kept that long, until all such places are too old to matter.
type FormerWindow struct {
	Keeps time.Duration // see Policy.Keeps
	Until time.Time     // Keeps after the rules were replaced
}

// At returns how long places count at a time; 0 if the window no longer matters.
func (w FormerWindow) At(now time.Time) time.Duration {
	if w.Until.After(now) {
		return w.Keeps
	}
	return 0
}

// parseFormer parses a former window: Keeps in ms, and Until in Unix ms.
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
