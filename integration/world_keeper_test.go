package integration_test

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

var errEnded = errors.New("the process has ended")

// worldKeeper keeps a process of a world running, as a service manager does, except while it is
// away.
type worldKeeper struct {
	config worldConfig
	next   func(*worldConfig) // completes the configuration of a process that starts

	mu    sync.Mutex
	away  bool
	lives []*worldLife
}

// worldLife is a process of a worker or a caller.
type worldLife struct {
	name    string
	command *exec.Cmd
	said    output.Buffer
	asked   bool          // to end
	ended   chan struct{} // closed when the process has ended, at the time at
	at      time.Time

	mu      sync.Mutex
	orders  *gob.Encoder
	in      io.Closer
	number  int
	waiting map[int]chan worldReply
}

// keep starts the process whenever it does not run, until stop is closed.
func (k *worldKeeper) keep(t *testing.T, stop <-chan struct{}) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		k.mu.Lock()
		if !k.away && (len(k.lives) == 0 || k.lives[len(k.lives)-1].isOver()) {
			life, err := k.start(t)
			if err != nil {
				t.Error(err)
				k.mu.Unlock()
				return
			}
			k.lives = append(k.lives, life)
		}
		k.mu.Unlock()
		select {
		case <-stop:
			return
		case <-poll.C:
		}
	}
}

func (k *worldKeeper) start(t *testing.T) (*worldLife, error) {
	t.Helper()
	c := k.config
	k.next(&c)
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	l := &worldLife{name: c.Name, ended: make(chan struct{}), waiting: make(map[int]chan worldReply)}
	l.command = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWorldProcess$", "-test.timeout=5m")
	l.command.Env = append(os.Environ(), worldEnv+"="+string(text))
	l.command.Stderr = &l.said
	in, err := l.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.command.Start(); err != nil {
		return nil, err
	}
	l.in, l.orders = in, gob.NewEncoder(in)
	go func() {
		defer close(l.ended)
		l.read(out)
		_ = l.command.Wait() // its log says why it ended
		l.at = time.Now()
	}()
	return l, nil
}

// read hands the replies of a process to those who wait for them.
func (l *worldLife) read(out io.Reader) {
	replies := gob.NewDecoder(out)
	for {
		var r worldReply
		if replies.Decode(&r) != nil {
			_, _ = io.Copy(&l.said, out) // what a worker, or a test that failed, says
			return
		}
		l.mu.Lock()
		l.waiting[r.Number] <- r
		delete(l.waiting, r.Number)
		l.mu.Unlock()
	}
}

// ask has a process do something.
func (l *worldLife) ask(o worldOrder) (worldReply, error) {
	answer := make(chan worldReply, 1)
	l.mu.Lock()
	l.number++
	o.Number = l.number
	l.waiting[o.Number] = answer
	err := l.orders.Encode(o)
	l.mu.Unlock()
	if err != nil {
		return worldReply{}, errEnded
	}
	select {
	case r := <-answer:
		return r, nil
	case <-l.ended:
		return worldReply{}, errEnded
	}
}

// die has a process kill itself.
func (l *worldLife) die(d worldDeath) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.orders.Encode(worldOrder{Die: &d}) // fails if it has ended
}

// last returns the present process, or the last one; nil if there was none.
func (k *worldKeeper) last() *worldLife {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lives) == 0 {
		return nil
	}
	return k.lives[len(k.lives)-1]
}

// past returns all processes so far.
func (k *worldKeeper) past() []*worldLife {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.lives)
}

// goAway ends the process by a signal, and keeps it from being started. A caller ends when it gets
// no more to do.
func (k *worldKeeper) goAway(by os.Signal) {
	k.stayAway()
	l := k.last()
	if l == nil {
		return
	}
	l.asked = !l.isOver()
	if k.config.Caller {
		_ = l.in.Close()
	} else {
		_ = l.command.Process.Signal(by) // fails if it has ended
	}
	<-l.ended
}

// stayAway keeps the process from being started.
func (k *worldKeeper) stayAway() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away = true
}

// comeBack lets the process be started again.
func (k *worldKeeper) comeBack() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away = false
}

// works reports whether the process works.
func (k *worldKeeper) works() bool {
	l := k.last()
	return l != nil && !l.isOver() && strings.Contains(l.said.String(), `"msg":"delivering"`)
}

func (l *worldLife) isOver() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// died returns at which call the process killed itself; "" for none.
func (l *worldLife) died() string {
	_, after, _ := strings.Cut(l.said.String(), "\ndied ")
	point, _, _ := strings.Cut(after, "\n")
	return point
}
