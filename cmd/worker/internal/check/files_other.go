//go:build !unix

package check

import "math"

// fileLimit returns how many files this process may have open: there is no limit.
func fileLimit() uint64 { return math.MaxInt64 }
