package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// Slots bounds how much runs at a time, and shares that among accounts. A free slot goes to
// the account that has the fewest, and of its campaigns to the one that has the fewest: max-min
// fairness, as in Bertsekas and Gallager, Data Networks, 6.5. Of equals it goes to the one that
// got its last slot first. Within a campaign, who waits longest is first.
//
// While several accounts are active, none has more than its most. So an account with few
// messages finds a free slot, also where another one has calls that take long.
type Slots struct {
	local func() time.Time
	all   int
	most  int // of one account, while others are active

	mu       sync.Mutex
	accounts party // their members are the campaigns
	granted  uint64
	swept    time.Time
}

// activeFor is for how long an account counts as active after it had a slot.
const activeFor = 10 * time.Second

// NewSlots returns n slots. Most is how many of them one account may have while others are
// active, at least one. Local is the local clock.
func NewSlots(n, most int, local func() time.Time) *Slots {
	return &Slots{local: local, all: n, most: max(1, most)}
}

// NewDeliverySlots returns the slots of a worker that makes a number of deliveries at a time.
func NewDeliverySlots(deliveries int, local func() time.Time) *Slots {
	return NewSlots(deliveries, deliveries*mostOfSlots/4, local)
}

// Try takes a slot, which Leave gives back, if one is free for an account.
func (s *Slots) Try(o messages.Origin) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.try(s.accounts.member(o.Account), o)
}

func (s *Slots) try(account *party, o messages.Origin) bool {
	if !s.mayHave(account) {
		return false
	}
	s.grant(account.member(o.Campaign), 0)
	return true
}

// Take waits for a slot, which Leave gives back. It reports false if ctx ends, or stop is closed,
// before that.
func (s *Slots) Take(ctx context.Context, stop <-chan struct{}, o messages.Origin) bool {
	select {
	case <-stop:
		return false
	default:
	}
	s.mu.Lock()
	account := s.accounts.member(o.Account)
	if s.try(account, o) {
		s.mu.Unlock()
		return true
	}
	campaign := account.member(o.Campaign)
	ready := make(chan struct{})
	place := campaign.line.PushBack(ready)
	campaign.change(0, 1)
	s.mu.Unlock()
	select {
	case <-ready:
		return true
	case <-stop:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-ready: // meanwhile
		s.leave(campaign)
	default:
		campaign.line.Remove(place)
		campaign.change(0, -1)
	}
	return false
}

// Leave gives back a slot that was taken for the same origin.
func (s *Slots) Leave(o messages.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(s.accounts.member(o.Account).member(o.Campaign))
}

// Before returns how many others are before a new caller of an account: those that have a slot,
// those of its account that wait, and as many and one more of each other account.
func (s *Slots) Before(account string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	if a := s.accounts.members[account]; a != nil {
		own = a.queued
	}
	before := own + s.accounts.held
	for _, other := range s.accounts.waiting {
		if other.name != account {
			before += min(other.queued, own+1)
		}
	}
	return before
}

// mostWaiting is how many callers of all accounts together may wait before one with more than
// an equal share of that counts as crowded.
const mostWaiting = 256

// Crowded reports whether so many callers of an account wait that others should not have to
// pass by more of them.
func (s *Slots) Crowded(account string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts.members[account]
	return a != nil && a.queued > mostWaiting/len(s.accounts.members)
}

// mayHave reports whether there is a slot that an account may have.
func (s *Slots) mayHave(account *party) bool {
	return s.accounts.held < s.all && (account.held < s.most || len(s.accounts.members) == 1)
}

// grant gives a campaign a slot, for one that has waited or not.
func (s *Slots) grant(campaign *party, waited int) {
	s.granted++
	campaign.granted, campaign.of.granted = s.granted, s.granted
	campaign.of.used = s.local()
	campaign.change(1, -waited)
}

func (s *Slots) leave(campaign *party) {
	account := campaign.of
	account.used = s.local()
	campaign.change(-1, 0)
	if account.used.Sub(s.swept) >= activeFor/10 {
		s.swept = account.used
		for _, a := range s.accounts.members {
			if a.idle() && s.swept.Sub(a.used) > activeFor {
				delete(s.accounts.members, a.name)
			}
		}
	}
	for len(s.accounts.waiting) > 0 && s.mayHave(s.accounts.waiting[0]) {
		next := s.accounts.waiting[0].waiting[0]
		close(next.line.Remove(next.line.Front()).(chan struct{})) //nolint:forcetypeassert // Take puts in no other
		s.grant(next, 1)
	}
}
