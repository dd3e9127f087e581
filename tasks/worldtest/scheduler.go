package worldtest

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// Call is a call of a process to the store, which other calls come before or after. A pipeline
// is one call.
type Call struct {
	At      time.Time // when it was admitted
	Process string
	Names   []string // of scripts, or of commands; each once, in their order
	Users   []string // whose timelines it may change
	Lost    bool     // nobody got the reply
}

// scheduler admits the calls of all processes to the store, one at a time, in an order that a
// seed decides: it waits until everybody waits, and then chooses among the calls. So the
// interleavings of a world are its seed's, but for what is random in the programs themselves.
type scheduler struct {
	random  *rand.Rand
	names   map[string]string                 // of scripts, by hash
	admits  func(c Call) (verdict fate)       // decides what becomes of a call
	observe func(c Call)                      // sees each call that the store got, before the next one
	users   func(cmds []redis.Cmder) []string // whose timelines a call may change
	wake    chan struct{}                     // of capacity one
	ended   chan struct{}

	mu      sync.Mutex
	waiting []*waitingCall
	trace   []Call
}

// fate is what becomes of a call.
type fate int

const (
	answered fate = iota
	refused       // the store can't be reached
	lost          // it is done, and the reply is lost
	repeated      // the reply is lost, and the client library sends the same again
	stopped       // the process is stopped before it, for good
	lastly        // the process is stopped after it, before it knows the reply
)

type waitingCall struct {
	process string
	names   []string
	turn    chan struct{} // closed when it may go on
	done    chan struct{} // closed when the next one may
}

func newScheduler(seed uint64, names map[string]string) *scheduler {
	return &scheduler{
		random: rand.New(rand.NewPCG(seed, 2)), names: names,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// run admits calls until end.
func (s *scheduler) run() {
	for {
		select {
		case <-s.ended:
			return
		case <-s.wake:
		}
		synctest.Wait() // whoever will make a call at this moment has made it
		next := s.next()
		if next == nil {
			continue
		}
		close(next.turn)
		<-next.done
		s.notify()
	}
}

func (s *scheduler) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next takes one of the waiting calls, nil if there is none.
func (s *scheduler) next() *waitingCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(s.waiting, func(a, b *waitingCall) int {
		return cmp.Or(cmp.Compare(a.process, b.process), slices.Compare(a.names, b.names))
	})
	i := s.random.IntN(len(s.waiting))
	chosen := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return chosen
}

// errAway is what a client says of a store that it can't reach.
func errAway() error { return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED} }

// errLost is what a client says of a reply that did not come.
func errLost() error { return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET} }

// errStopped is what the calls of a process come to that was stopped, once the world ends.
var errStopped = errors.New("the process was stopped")

// do lets a process make a call in its turn.
func (s *scheduler) do(ctx context.Context, p *process, cmds []redis.Cmder, make func() error) error {
	if p.isStopped() {
		return p.stay(cmds)
	}
	w := &waitingCall{process: p.name, names: s.namesOf(cmds), turn: newTurn(), done: newTurn()}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	s.notify()
	select {
	case <-w.turn:
	case <-ctx.Done():
		if s.withdraw(w) {
			return setErrors(cmds, ctx.Err())
		}
		<-w.turn
	}
	defer close(w.done)
	c := Call{At: time.Now(), Process: p.name, Names: w.names, Users: s.users(cmds)}
	what := s.admits(c)
	c.Lost = what == lost || what == lastly || what == stopped || what == refused
	s.mu.Lock()
	s.trace = append(s.trace, c)
	s.mu.Unlock()
	var err error
	switch what {
	case refused:
		return setErrors(cmds, errAway())
	case stopped:
		p.stop()
	case repeated:
		_ = make()
		s.observe(c)
		err = make()
		s.observe(c)
	case answered, lost, lastly:
		err = make()
		s.observe(c)
	}
	switch what {
	case lost:
		return setErrors(cmds, errLost())
	case lastly:
		p.stop()
	case answered, refused, repeated, stopped:
	}
	return err
}

func newTurn() chan struct{} { return make(chan struct{}) }

// withdraw takes a call back that was not admitted, and reports whether it still could.
func (s *scheduler) withdraw(w *waitingCall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	return i >= 0
}

func setErrors(cmds []redis.Cmder, err error) error {
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
	return err
}

// namesOf names the scripts and commands of a call.
func (s *scheduler) namesOf(cmds []redis.Cmder) []string {
	var names []string
	for _, cmd := range cmds {
		name := cmd.Name()
		switch args := cmd.Args(); {
		case strings.HasPrefix(name, "eval") && len(args) > 1:
			hash, _ := args[1].(string)
			name = cmp.Or(s.names[hash], "script")
		case len(args) > 1 && name != "ping" && name != "script":
			if key, ok := args[1].(string); ok {
				name += " " + kindOf(key)
			}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// kindOf shortens a key to what it is for.
func kindOf(key string) string {
	words := strings.FieldsFunc(key, func(r rune) bool { return r == ':' })
	for _, word := range words {
		if word[0] != '{' && word != "sl" && word != "asynq" {
			return word
		}
	}
	return key
}

// Trace returns the calls so far.
func (s *scheduler) Trace() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.trace)
}

func (s *scheduler) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.trace)
}

// since returns the calls after a number of them.
func (s *scheduler) since(n int) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace[n:len(s.trace):len(s.trace)]
}

// process is a program, or a worker, with a client of its own. It can be stopped for good at any
// call: goroutines can't be killed, so its calls wait until the world ends, and fail then.
type process struct {
	name      string
	scheduler *scheduler
	end       <-chan struct{} // closed when the world ends
	slow      func() time.Duration

	mu     sync.Mutex
	halted bool
	died   chan struct{} // closed when it is stopped
}

func newProcess(name string, s *scheduler, end <-chan struct{}) *process {
	return &process{name: name, scheduler: s, end: end, died: make(chan struct{})}
}

func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.halted
}

func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.halted {
		p.halted = true
		close(p.died)
	}
}

// stay is what a stopped process does.
func (p *process) stay(cmds []redis.Cmder) error {
	<-p.end
	time.Sleep(time.Second) // nobody repeats it at once
	return setErrors(cmds, errStopped)
}

// DialHook does nothing.
func (p *process) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes a call in its turn.
func (p *process) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if isHandshake(cmd) {
			return next(ctx, cmd)
		}
		return p.call(ctx, []redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook makes the calls of a pipeline in their turn.
func (p *process) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if isHandshake(cmds[0]) {
			return next(ctx, cmds)
		}
		return p.call(ctx, cmds, func() error { return next(ctx, cmds) })
	}
}

// isHandshake reports whether a command belongs to the making of a connection, which happens
// within a call.
func isHandshake(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "client", "auth", "select", "readonly":
		return true
	default:
		return false
	}
}

func (p *process) call(ctx context.Context, cmds []redis.Cmder, make func() error) error {
	if p.slow != nil && p.slow() > 0 {
		wait(ctx, p.slow())
	}
	err := p.scheduler.do(ctx, p, cmds, make)
	if p.isStopped() {
		return p.stay(cmds)
	}
	if network := (&net.OpError{}); errors.As(err, &network) {
		wait(ctx, 50*time.Millisecond) // a client library takes a while to find out
	}
	return err
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
