package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// Run is a program without its process: it uses only its arguments.
type Run func(ctx context.Context, p Program, args []string) error

// Main runs a program and returns its exit status. The first SIGINT or SIGTERM cancels the context,
// so that the program can end in order; the second ends the process at once, unless the program
// waits for it (Program.Await). If the program returns the context's error after a signal, the
// status is 128 plus the signal's number, as shells expect.
//
// Main prints an error that the program has not printed.
func Main(name string, run Run) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	p := process{signals: signals, exit: os.Exit, stderr: os.Stderr, names: NamesOf(os.Args[0]), getenv: os.Getenv}
	program := Program{
		Name: name, Names: p.names, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Await: p.await,
	}
	return p.run(func(ctx context.Context) error { return run(ctx, program, os.Args[1:]) })
}

// process is the part of the real process that Main uses.
type process struct {
	signals <-chan os.Signal
	awaited atomic.Pointer[chan struct{}] // who waits for the next signal: see Program.Await
	exit    func(status int)
	stderr  io.Writer
	names   Names
	getenv  func(string) string
}

// interruptedError is the cause of a context that a signal canceled.
type interruptedError struct{ signal os.Signal }

func (e *interruptedError) Error() string { return fmt.Sprintf("stopped by the signal %q", e.signal) }

func (p *process) run(program func(context.Context) error) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(cancel, ended) })

	err := program(ctx)
	close(ended)
	watching.Wait()
	interrupted, _ := errors.AsType[*interruptedError](context.Cause(ctx))
	cancel(nil)

	if interrupted != nil && errors.Is(err, context.Canceled) {
		_ = Report(p.stderr, p.palette(), p.names, interrupted) // the status is the signal's
		return signalStatus(interrupted.signal)
	}
	if _, printed := errors.AsType[StatusError](err); err != nil && !printed {
		err = Report(p.stderr, p.palette(), p.names, err)
	}
	return ExitCode(err)
}

// watch cancels at the first signal. It exits at the next one that the program does not wait for.
func (p *process) watch(cancel context.CancelCauseFunc, ended <-chan struct{}) {
	select {
	case s := <-p.signals:
		cancel(&interruptedError{signal: s})
	case <-ended:
		return
	}
	for {
		select {
		case s := <-p.signals:
			if awaited := p.awaited.Swap(nil); awaited != nil {
				close(*awaited)
			} else {
				p.exit(signalStatus(s))
			}
		case <-ended:
			return
		}
	}
}

func (p *process) await() <-chan struct{} {
	next := make(chan struct{})
	p.awaited.Store(&next)
	return next
}

func (p *process) palette() Palette { return NewPalette(p.stderr, p.getenv) }

func signalStatus(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return StatusUnexpected
}
