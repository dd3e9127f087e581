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

// Call is a call of a process to the store. A pipeline is one call.
type Call struct {
	At      time.Time // when it was admitted
	Process string
	Names   []string // of scripts, or of commands; each once, in their order
	Users   []string // whose timelines it may change
	Lost    bool     // nobody got the reply
}

// scheduler admits the calls of all processes to the store, one at a time, in an order that a seed
// decides: it waits until all processes wait, and then chooses a call. So the seed of a world
// decides its interleavings, except for randomness in the programs.
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

// fate is the result of a call.
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

// errAway returns the client's error for a store that it can't reach.
func errAway() error { return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED} }

// errLost returns the client's error for a lost reply.
func errLost() error { return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET} }

// errStopped is the error of a stopped process's calls when the world ends.
var errStopped = errors.New("the process was stopped")

// do makes a call of a process in its turn.
func (s *scheduler) do(ctx context.Context, p *process, cmds []redis.Cmder, call func() error) error {
	if p.isStopped() {
		return p.stay(cmds)
	}
	w := &waitingCall{process: p.name, names: s.namesOf(cmds), turn: make(chan struct{}), done: make(chan struct{})}
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
		_ = call()
		s.observe(c)
		err = call()
		s.observe(c)
	case answered, lost, lastly:
		err = call()
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

// withdraw cancels a call, and reports false if it was admitted before.
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
			if !strings.HasPrefix(name, "evalsha") { // the first call of a script has its text
				hash = redis.NewScript(hash).Hash()
			}
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

// kindOf shortens a key to its purpose.
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
