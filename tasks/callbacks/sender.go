package callbacks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// Poster posts a batch once. *webhook.Callback is one.
type Poster interface {
	Post(ctx context.Context, b webhook.Batch) notifier.Result
}

// Sender posts the events of all accounts with a callback. Any number may run on one store.
type Sender struct {
	Accounts  *accounts.Accounts
	Listeners *events.Listeners
	Log       *events.Log
	Callbacks *events.Callbacks
	Poster    Poster
	Clock     *storeclock.Clocks
	// GiveUp is how long an event is tried before it is dead.
	GiveUp time.Duration
	// Rate is the most requests a second for one account.
	Rate int
	// Retries says when a callback that failed is tried again; its attempts are not counted.
	Retries retry.Policy
	// Timeout bounds a request. The lease of a turn is longer by Margin.
	Timeout, Margin time.Duration
	Metrics         *metrics.Metrics
	Logger          *slog.Logger

	accounts map[string]*attention // of the loop
	looked   time.Time             // when it last listed the accounts with a callback
	failed   bool                  // that failed
	slots    chan struct{}
}

// attention is when to look at the callback of an account.
type attention struct {
	mu       sync.Mutex
	busy     bool
	next     time.Time     // by the local clock
	idle     time.Duration // the last wait for events
	listened time.Time     // the last call of Listen
	seen     time.Time     // when the account last had a callback
}

const (
	// together is how many accounts a worker posts to at a time.
	together = 64
	// tick is how often the loop begins the due accounts.
	tick = 100 * time.Millisecond
	// lookEvery is how often it lists the accounts with a callback.
	lookEvery = 2 * time.Second
	// shortestIdle and longestIdle bound the wait for events: it doubles while there are none.
	shortestIdle = 200 * time.Millisecond
	longestIdle  = 2 * time.Second
	// longestWait bounds the wait for a turn: the state may change.
	longestWait = 5 * time.Second
)

// DefaultRetries is the default of Sender.Retries.
func DefaultRetries() retry.Policy {
	return retry.Policy{Min: time.Second, Max: 10 * time.Minute, Attempts: 1}
}

// Start posts until stopping is closed: then it takes no new turns. Once ended is closed, it
// no longer waits for the store. The returned function waits for running requests: call it after
// both are closed.
func (s *Sender) Start(ctx context.Context, stopping, ended <-chan struct{}) (wait func()) {
	ctx = context.WithoutCancel(ctx)
	s.accounts, s.slots = make(map[string]*attention), make(chan struct{}, together)
	var running sync.WaitGroup
	running.Go(func() {
		for storeclock.Sleep(ctx, stopping, tick) {
			s.pass(ctx, &running, ended)
		}
	})
	return running.Wait
}

// pass begins the due accounts.
func (s *Sender) pass(ctx context.Context, running *sync.WaitGroup, ended <-chan struct{}) {
	now := s.Clock.Local()
	if now.Sub(s.looked) >= lookEvery {
		s.looked = now
		s.find(ctx, now)
	}
	for name, a := range s.accounts {
		if !a.begins(now) {
			continue
		}
		select {
		case s.slots <- struct{}{}:
		default:
			a.ends(now)
			return // the others are due at the next pass
		}
		running.Go(func() {
			defer func() { <-s.slots }()
			wait := s.look(ctx, name, a, ended)
			a.ends(s.Clock.Local().Add(wait))
		})
	}
}

// find lists the accounts with a callback.
func (s *Sender) find(ctx context.Context, now time.Time) {
	names, err := s.Accounts.WithCallback(ctx)
	if err != nil {
		if !s.failed {
			s.Logger.DebugContext(ctx, "could not list the accounts with a callback: trying again", "error", err)
		}
		s.failed = true
		return
	}
	s.failed = false
	for _, name := range names {
		if s.accounts[name] == nil {
			s.accounts[name] = &attention{}
		}
		s.accounts[name].seen = now
	}
	for name, a := range s.accounts {
		if a.seen != now {
			delete(s.accounts, name)
		}
	}
}

// begins reports whether the account is due, and then marks it as busy.
func (a *attention) begins(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy || now.Before(a.next) {
		return false
	}
	a.busy = true
	return true
}

func (a *attention) ends(next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy, a.next = false, next
}

// look posts the next events of an account if it is this worker's turn. It returns the wait before
// the next look. Only one look at an account runs at a time.
func (s *Sender) look(ctx context.Context, account string, a *attention, ended <-chan struct{}) time.Duration {
	s.listen(ctx, account, a)
	turn, next, ok, err := s.Callbacks.Take(ctx, account, keyspace.NewToken(), s.Timeout+s.Margin)
	switch {
	case errors.Is(err, events.ErrNoCallback):
		err = s.Callbacks.Begin(ctx, account, true)
		a.idle = shortestIdle
		if err == nil {
			return 0
		}
	case err == nil && ok:
		a.idle = 0
		return s.send(ctx, turn, ended)
	case err == nil && !next.IsZero():
		return min(max(next.Sub(s.Clock.Now()), 0), longestWait)
	case err == nil:
		a.idle = min(max(2*a.idle, shortestIdle), longestIdle)
		return a.idle
	}
	if persist.Unavailable(err) {
		s.Logger.DebugContext(ctx, "a callback waits for the store", "error", err)
	} else {
		s.Logger.WarnContext(ctx, "could not look at a callback: trying again", "account", account, "error", err)
	}
	return longestIdle
}

// listen makes programs write events of the account.
func (s *Sender) listen(ctx context.Context, account string, a *attention) {
	now := s.Clock.Local()
	if !a.listened.IsZero() && now.Sub(a.listened) < s.Callbacks.ListenEvery() {
		return
	}
	if err := s.Listeners.Listen(ctx, account, s.Clock.Now().Add(s.Callbacks.Kept())); err != nil {
		s.Logger.DebugContext(ctx, "could not listen to events: trying again", "error", err)
		return
	}
	a.listened = now
}
