package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// process is a program in the background.
type process struct {
	running *os.Process
	ended   chan struct{} // closed when it has ended
}

// startProcess starts a program with more environment, whose output goes to a file. The program
// outlives ctx.
func startProcess(ctx context.Context, output string, environ []string, program string, args ...string) (*process, error) {
	log, err := os.OpenFile(output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", program, err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()

	p := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// For dieWithParent, the parent is this thread. It must run until the program
		// has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // always an error: the program is killed
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p.running = cmd.Process
	return p, nil
}

// kill kills the process and waits for its end.
func (p *process) kill() {
	_ = p.running.Kill() // fails only if it has already ended
	<-p.ended
}
