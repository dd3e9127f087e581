package redistest

import "syscall"

// dieWithParent makes the kernel kill the process when the thread that started
// it ends. No server outlives a test that panics or is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
