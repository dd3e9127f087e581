//go:build !linux

package redistest

import "syscall"

// dieWithParent does nothing: this kernel has no such option. A server ends
// only by its Close.
func dieWithParent() *syscall.SysProcAttr { return nil }
