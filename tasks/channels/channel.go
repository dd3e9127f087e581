package channels

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/notifier"
	stored "github.com/sendlimit/sendlimiter/sendlimit/channels"
)

const (
	// stoppedSoonest and stoppedLatest bound for how long a message of a stopped channel
	// waits: the longer the channel is stopped, the longer.
	stoppedSoonest, stoppedLatest = time.Minute, 10 * time.Minute
	// heldFor is for how long a message waits whose device may be gone.
	heldFor = time.Minute
	// mostPaused is how many paused devices are remembered. Another one's provider has to
	// ask again.
	mostPaused = 10_000
	// mostSuspects is how many suspect devices are remembered. The mark of another one is
	// removed when it accepts a message.
	mostSuspects = 10_000
)

// Channel is what a worker knows of a channel. It is safe for concurrent use.
type Channel struct {
	Setup

	brake  brake
	seed   maphash.Seed
	paused *lru.Cache[uint64, time.Time] // until when a device waits, by its hash

	mu       sync.Mutex
	known    string // the identity of the credentials, as last seen
	state    stored.State
	changes  int  // counts what was learned here, which a look that began before does not know
	untold   bool // the channel was stopped here, and the store may not know it yet
	suspects map[Suspect]struct{}
}

// Suspect is a device of a user that the brake kept.
type Suspect struct{ User, Device string }

func newChannel(s Setup) (*Channel, error) {
	paused, err := lru.New[uint64, time.Time](mostPaused)
	if err != nil {
		return nil, fmt.Errorf("make room for paused devices: %w", err)
	}
	return &Channel{
		Setup: s, known: identityOf(s), seed: maphash.MakeSeed(), paused: paused, state: stored.State{Name: s.Name},
		suspects: map[Suspect]struct{}{},
	}, nil
}

// identity returns that of the present credentials. They may be read again while the worker
// runs: what was learned with others says nothing about these.
func (c *Channel) identity() string {
	identity := identityOf(c.Setup)
	c.mu.Lock()
	changed := c.known != identity
	c.known = identity
	c.mu.Unlock()
	if changed {
		c.brake.reset()
	}
	return identity
}

// State returns what is known of the stored state.
func (c *Channel) State() stored.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Stopped reports whether the channel is stopped, and for how long a message is to wait then.
func (c *Channel) Stopped(now time.Time) (wait time.Duration, stopped bool) {
	state := c.State()
	if !state.Stopped {
		return 0, false
	}
	wait = min(max(now.Sub(state.Since), stoppedSoonest), stoppedLatest)
	return wait + rand.N(wait/10), true
}

// probes reports whether the channel finds out by itself whether its credentials are accepted.
func (c *Channel) probes() bool {
	_, ok := c.Notifier.(notifier.Prober)
	return ok
}

// MessageProbes reports whether a message may be the next probe of a stopped channel, which has
// no other: see Set.TakeProbe.
func (c *Channel) MessageProbes(now time.Time) bool {
	state := c.State()
	return state.Stopped && state.Reason != stored.Brake && !c.probes() && probeDue(state, now)
}

// MessageProbed reports whether a message that the provider accepts is a probe that has passed:
// the channel has no other.
func (c *Channel) MessageProbed() bool { return !c.probes() }

// probeDue reports whether the next probe of a stopped channel may be made.
func probeDue(state stored.State, now time.Time) bool {
	at := state.ProbeAt
	if at.IsZero() {
		at = state.Since.Add(probeEvery)
	}
	return !now.Before(at) || at.After(now.Add(probeEvery)) // set while the clock was ahead
}

// PauseDevice lets all messages to a device wait.
func (c *Channel) PauseDevice(address string, until time.Time) {
	c.paused.Add(c.hash(address), until)
}

// DevicePaused returns for how long messages to a device have to wait.
func (c *Channel) DevicePaused(address string, now time.Time) time.Duration {
	if c.paused.Len() == 0 {
		return 0
	}
	until, ok := c.paused.Get(c.hash(address))
	if !ok {
		return 0
	}
	return max(0, until.Sub(now))
}

// Accepted notes that the provider accepted a message for a device. It reports whether that is
// the first success with the present credentials, which Set.Prove is to store.
func (c *Channel) Accepted(address string) (first bool) {
	identity := c.identity()
	c.brake.note(c.hash(address), true)
	return !c.State().Proved(identity)
}

// Rejected notes that the provider knows a device and refuses a message.
func (c *Channel) Rejected(address string) { c.brake.note(c.hash(address), false) }

// Gone notes that the provider calls a device gone. If it is to be believed, wait is zero.
// Otherwise the device is suspect, and its message is to wait. If tripped, the channel is to
// be stopped: Stop does it.
func (c *Channel) Gone(user, device, address string, now time.Time) (wait time.Duration, tripped bool) {
	state := c.State()
	if state.Stopped && state.Reason == stored.Brake {
		wait, _ = c.Stopped(now)
		return wait, false
	}
	identity := c.identity()
	judged := c.brake.gone(c.hash(address), state.Proved(identity))
	if judged == remove {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.suspects) < mostSuspects {
		c.suspects[Suspect{User: user, Device: device}] = struct{}{}
	}
	return heldFor, judged == trip
}

// stop notes that the channel is stopped. It reports whether it was not.
func (c *Channel) stop(why stored.Stop, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	if c.state.Stopped {
		return false
	}
	c.state.Stopped, c.state.Stop, c.state.Since, c.state.ProbeAt = true, why, now, time.Time{}
	c.untold = true
	return true
}

// told notes that the store knows that the channel is stopped, or could not be told.
func (c *Channel) told() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++ // a look may have read the store before this
	c.untold = false
}

// learn takes over a state from the store, unless something else was learned meanwhile. It
// returns the state before, and the devices that are not suspect any more, as an operator
// has resumed the channel.
func (c *Channel) learn(state stored.State, changes int) (before stored.State, cleared []Suspect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before = c.state; c.changes != changes || c.untold {
		return c.state, nil
	}
	state.Name = c.Name
	c.state = state
	if before.Stopped && before.Reason == stored.Brake && !state.Stopped {
		for suspect := range c.suspects {
			cleared = append(cleared, suspect)
		}
		clear(c.suspects)
		c.brake.reset()
	}
	return before, cleared
}

// seen returns how much was learned here.
func (c *Channel) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

func (c *Channel) hash(address string) uint64 { return maphash.String(c.seed, address) }
