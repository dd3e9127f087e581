package channels

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// stoppedSoonest and stoppedLatest bound how long a message of a stopped channel
	// waits: the longer the channel is stopped, the longer.
	stoppedSoonest, stoppedLatest = 5 * time.Second, 10 * time.Minute
	// heldFor is how long a message waits whose device may be gone.
	heldFor = time.Minute
	// maxPaused is how many paused devices are remembered. For others the provider has to
	// ask again.
	maxPaused = 10_000
	// maxSuspects is how many suspect devices are remembered. The mark of others is
	// removed when they accept a message.
	maxSuspects = 10_000
)

// Channel is what a worker knows of a channel. It is safe for concurrent use.
type Channel struct {
	Setup

	brake    brake
	refusals *refusals
	seed     maphash.Seed
	paused   *lru.Cache[uint64, time.Time] // the end of a device's pause, by its hash

	mu       sync.Mutex
	known    string // the identity of the credentials, as last seen
	state    State
	changes  int  // counts changes made here, which a running look does not know
	untold   bool // the channel was stopped here, and the store may not know it yet
	probed   probed
	suspects map[Suspect]struct{}
}

// probed says which credentials were tried after which stop of other ones.
type probed struct {
	identity string
	since    time.Time
}

// Suspect is a device of a user that the brake kept.
type Suspect struct{ User, Device string }

func newChannel(s Setup) (*Channel, error) {
	paused, err := lru.New[uint64, time.Time](maxPaused)
	if err != nil {
		return nil, fmt.Errorf("make room for paused devices: %w", err)
	}
	refusals, err := newRefusals()
	if err != nil {
		return nil, err
	}
	return &Channel{
		Setup: s, known: identityOf(s), refusals: refusals, seed: maphash.MakeSeed(), paused: paused,
		state: State{Name: s.Name}, suspects: map[Suspect]struct{}{},
	}, nil
}

// identity returns the identity of the present credentials. If they have changed since the last call,
// it resets what was learned with the old ones.
func (c *Channel) identity() string {
	identity := identityOf(c.Setup)
	c.mu.Lock()
	changed := c.known != identity
	c.known = identity
	c.mu.Unlock()
	if changed {
		c.brake.reset()
		c.refusals.reset()
	}
	return identity
}

// State returns the last known state.
func (c *Channel) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Stopped reports whether the channel is stopped, and how long a message waits then. A stop
// applies only to the refused credentials.
func (c *Channel) Stopped(now time.Time) (wait time.Duration, stopped bool) {
	state := c.State()
	if !c.stops(state) {
		return 0, false
	}
	wait = min(max(now.Sub(state.Since), stoppedSoonest), stoppedLatest)
	return wait + rand.N(wait/10), true
}

// stops reports whether a state stops a channel with the present credentials.
func (c *Channel) stops(state State) bool {
	return state.Stopped && (state.Identity == "" || state.Identity == c.identity())
}

// probes reports whether the channel has a Prober.
func (c *Channel) probes() bool {
	_, ok := c.Notifier.(notifier.Prober)
	return ok
}

// ProbeDue reports whether a message may be the next probe of a stopped channel: after the brake,
// or if the channel has no Prober.
func (c *Channel) ProbeDue(now time.Time) bool {
	state := c.State()
	return c.stops(state) && c.messageProbes(state) && probeDue(state, now)
}

func (c *Channel) messageProbes(state State) bool {
	return state.Reason == Brake || !c.probes()
}

// messageMayProbe is ProbeDue for one message. A message that was refused before probes only after
// refusedProbes.
func (c *Channel) messageMayProbe(m Sent, now time.Time) bool {
	return c.ProbeDue(now) && (!c.refusals.has(m) || now.Sub(c.State().Since) >= refusedProbes)
}

// spares reports whether only messages of other accounts stopped the channel, as far as
// this worker knows.
func (c *Channel) spares(m Sent) bool {
	state := c.State()
	return c.stops(state) && state.Reason != Brake && c.refusals.spares(m.Account)
}

// beginsProbe reports whether the Prober of a stopped channel is to ask now. New credentials are
// tried once at once.
func (c *Channel) beginsProbe(state State, now time.Time) bool {
	if state.Reason == Brake { // a probe would succeed, and proves nothing
		return false
	}
	if c.stops(state) {
		return probeDue(state, now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	this := probed{c.known, state.Since}
	fresh := c.probed != this
	c.probed = this
	return fresh
}

// probeDue reports whether it is time for the next probe of a stopped channel.
func probeDue(state State, now time.Time) bool {
	at := state.Since.Add(probeFirst)
	if state.ProbeAt.After(at) {
		at = state.ProbeAt
	}
	return !now.Before(at) || at.After(now.Add(probeEvery)) // set while the clock was ahead
}

// PauseDevice makes all messages to a device wait.
func (c *Channel) PauseDevice(address string, until time.Time) {
	c.paused.Add(c.hash(address), until)
}

// DevicePaused returns how long messages to a device have to wait.
func (c *Channel) DevicePaused(address string, now time.Time) time.Duration {
	if c.paused.Len() == 0 {
		return 0
	}
	until, _ := c.paused.Get(c.hash(address))
	return max(0, until.Sub(now))
}

// ConcernsAll reports whether refusals of so many users' and accounts' messages concern all messages:
// those of three users do, and if two accounts have sent lately, those of two accounts.
func (c *Channel) ConcernsAll(users, accounts int, now time.Time) bool {
	c.refusals.mu.Lock()
	defer c.refusals.mu.Unlock()
	return c.refusals.concernsAll(users, accounts, now)
}

// Sends notes that a message is sent.
func (c *Channel) Sends(m Sent, now time.Time) { c.refusals.sends(m.Account, now) }

// Accepted notes that the provider accepted a message, for a device or "". It reports whether
// this is the first success with the present credentials: then call Set.Prove.
func (c *Channel) Accepted(address string, now time.Time) (first bool) {
	identity := c.identity()
	first = c.refusals.accept(now)
	if c.HasDevices {
		c.brake.note(c.hash(address), true)
	}
	return first && !c.State().Proved(identity)
}

// Rejected notes that the provider knows a device and refuses a message.
func (c *Channel) Rejected(address string) { c.brake.note(c.hash(address), false) }

// Refused notes that the provider refused us with a message, and judges what that means. If the
// channel is to be stopped, call Set.Stop.
func (c *Channel) Refused(m Sent, now time.Time) Refusal {
	c.identity()
	return c.refusals.refuse(m, now)
}

// Gone notes that the provider calls a device gone, and judges what to do with it. wait is how long
// its message waits then. If the channel is to be stopped, call Set.Stop.
func (c *Channel) Gone(m Sent, device, address string, now time.Time) (what Judgement, wait time.Duration) {
	state := c.State()
	if state.Reason == Brake && c.stops(state) {
		wait, _ = c.Stopped(now)
		return Hold, wait
	}
	identity := c.identity()
	what = c.brake.gone(c.hash(address), m, state.Proved(identity), now)
	if what == Remove {
		return Remove, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.suspects) < maxSuspects {
		c.suspects[Suspect{User: m.User, Device: device}] = struct{}{}
	}
	return what, heldFor
}

// stop notes that the channel is stopped. It reports false if it was stopped before.
func (c *Channel) stop(why Stop, now time.Time) bool {
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

// told notes that the stop was stored, or could not be stored.
func (c *Channel) told() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++ // a running look may have missed it
	c.untold = false
}

// learn sets the state that a look has read, unless it changed here meanwhile. It
// returns the former state, and the devices that are no longer suspect because an operator
// has resumed the channel.
func (c *Channel) learn(state State, changes int) (before State, cleared []Suspect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before = c.state; c.changes != changes || c.untold {
		return c.state, nil
	}
	state.Name = c.Name
	c.state = state
	if at, ok := state.Accepted(c.known); ok {
		c.refusals.accept(at)
	}
	if before.Stopped && !state.Stopped {
		c.refusals.resume()
	}
	if before.Stopped && before.Reason == Brake && !state.Stopped {
		for suspect := range c.suspects {
			cleared = append(cleared, suspect)
		}
		clear(c.suspects)
		c.brake.reset()
	}
	return before, cleared
}

func (c *Channel) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

func (c *Channel) hash(address string) uint64 { return maphash.String(c.seed, address) }
