//go:build unix

package check

import (
	"math"
	"syscall"
)

// fileLimit returns how many files this process may have open. Go raises the soft limit to the hard one
// at the start.
func fileLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt64
	}
	return limit.Cur
}
