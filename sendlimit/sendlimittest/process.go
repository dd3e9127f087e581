package sendlimittest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// process is a program that runs in the background until it is killed.
type process struct {
	running *os.Process
	ended   chan struct{} // closed when it has ended
}

// startProcess starts a program that writes what it prints to a file. It lives
// on when ctx ends.
func startProcess(ctx context.Context, output, program string, args ...string) (*process, error) {
	log, err := os.OpenFile(output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", program, err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()

	p := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The parent that dieWithParent means is a thread: this one, which
		// therefore stays until the program has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is of no interest: it is killed
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p.running = cmd.Process
	return p, nil
}

// kill ends the process at once, as a crash would, and waits for its end.
func (p *process) kill() {
	_ = p.running.Kill() // fails only if it has ended
	<-p.ended
}
