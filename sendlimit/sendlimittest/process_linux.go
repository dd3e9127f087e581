package sendlimittest

import "syscall"

// dieWithParent has the kernel kill the process when the thread that started
// it ends, so that no server outlives a test that panics or is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
