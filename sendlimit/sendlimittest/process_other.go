//go:build !linux

package sendlimittest

import "syscall"

// dieWithParent does nothing where the kernel cannot do it: a server ends by
// its Close alone.
func dieWithParent() *syscall.SysProcAttr { return nil }
