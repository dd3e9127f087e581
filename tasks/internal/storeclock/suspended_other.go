//go:build !linux

package storeclock

import "time"

// suspended returns 0: for how long the machine was suspended is not known.
func suspended() time.Duration { return 0 }
