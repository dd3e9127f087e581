package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

// process is a running program of a side.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies chan side.Reply // without counters
	ended   chan struct{}

	mu       sync.Mutex
	counters side.Reply // the latest
}

// startProcess starts a side in a role on a store, and waits until it is ready.
func startProcess(ctx context.Context, s spec, cores pins, r side.Request) (*process, string, error) {
	command := cores.side(s.command)
	// The harness ends a side itself, also when ctx has ended.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	// A group of its own, so that a kill reaches its children, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", fmt.Errorf("start %s: %w", s.name, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", fmt.Errorf("start %s: %w", s.name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", s.name, err)
	}
	p := &process{cmd: cmd, in: in, replies: make(chan side.Reply, 1), ended: make(chan struct{})}
	go p.listen(out)
	r.Op = side.OpStart
	reply, err := p.ask(ctx, r)
	if err != nil {
		p.kill()
		return nil, "", fmt.Errorf("start %s: %w", s.name, err)
	}
	return p, reply.Settings, nil
}

// listen reads replies until the program ends.
func (p *process) listen(out io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var reply side.Reply
		if err := json.Unmarshal(lines.Bytes(), &reply); err != nil {
			fmt.Fprintf(os.Stderr, "a side printed %q\n", lines.Text())
			continue
		}
		if reply.Op != side.OpCounters {
			p.replies <- reply
			continue
		}
		p.mu.Lock()
		p.counters = reply
		p.mu.Unlock()
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "read from a side:", err)
	}
}

// ask sends a request, and waits for its reply.
func (p *process) ask(ctx context.Context, r side.Request) (side.Reply, error) {
	const patience = 10 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := json.NewEncoder(p.in).Encode(r); err != nil {
		return side.Reply{}, fmt.Errorf("ask a side to %s: %w", r.Op, err)
	}
	var reply side.Reply
	select {
	case reply = <-p.replies:
	case <-p.ended:
		select {
		case reply = <-p.replies: // its last one
		default:
			return side.Reply{}, fmt.Errorf("the side ended before it replied to %s", r.Op)
		}
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		return side.Reply{}, fmt.Errorf("no reply to %s, after %d answers and %d deliveries: %w",
			r.Op, p.counters.Submitted, p.counters.Delivered, ctx.Err())
	}
	if reply.Error != "" {
		return reply, fmt.Errorf("%s: %s", r.Op, reply.Error)
	}
	return reply, nil
}

// stop asks the program to end, and waits for that.
func (p *process) stop(ctx context.Context) error {
	_, err := p.ask(ctx, side.Request{Op: side.OpStop})
	if err != nil {
		p.kill()
		return err
	}
	<-p.ended
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("a side ended: %w", err)
	}
	return nil
}

// kill ends the program and its children by SIGKILL.
func (p *process) kill() {
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		fmt.Fprintln(os.Stderr, "kill a side:", err)
	}
	<-p.ended
	_ = p.cmd.Wait() // it was killed
}

// used returns the processor time of the program and its children.
func (p *process) used() (time.Duration, error) { return processorTime(p.cmd.Process.Pid) }

// pins are the processors of store and side. The zero value pins nothing.
type pins struct{ pinned bool }

// side returns a command that runs on the side's processor.
func (p pins) side(command []string) []string {
	if !p.pinned {
		return command
	}
	return append([]string{"taskset", "-c", "1"}, command...)
}

// store moves a process with its threads, and all processes below it, to the store's processor. Postgres
// has some from its start on.
func (p pins) store(ctx context.Context, pid int) error {
	if !p.pinned {
		return nil
	}
	pin := func(pid int) error {
		if out, err := exec.CommandContext(ctx, "taskset", "-acp", "0", strconv.Itoa(pid)).CombinedOutput(); err != nil {
			return fmt.Errorf("pin the store: %w: %s", err, out)
		}
		return nil
	}
	if err := pin(pid); err != nil {
		return err
	}
	all, err := processes()
	if err != nil {
		return err
	}
	for child := range all {
		if child != pid && isBelow(all, child, pid) {
			_ = pin(child) // it may have ended
		}
	}
	return nil
}
