package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Slots bounds how many callers run at a time, and shares the slots among accounts. A free slot goes
// to the account with the fewest, and within it to the campaign with the fewest: max-min
// fairness, as in Bertsekas and Gallager, Data Networks, 6.5. Among equals, the one whose
// last slot is oldest is first. Within a campaign, the longest waiting caller is first.
//
// While several accounts are active, none has more than most slots. So an account with few
// messages finds a free slot even if another one has slow calls.
type Slots struct {
	local func() time.Time
	all   int
	most  int // of one account, while others are active

	mu       sync.Mutex
	accounts party // their members are the campaigns
	granted  uint64
	swept    time.Time
}

// activeFor is how long an account counts as active after it had a slot.
const activeFor = 10 * time.Second

// NewSlots returns n slots, of which one account may have most while others are
// active, at least one. Local is the local clock.
func NewSlots(n, most int, local func() time.Time) *Slots {
	return &Slots{local: local, all: n, most: max(1, most)}
}

// NewDeliverySlots returns the slots of a worker with a number of concurrent deliveries.
func NewDeliverySlots(deliveries int, local func() time.Time) *Slots {
	return NewSlots(deliveries, deliveries*maxOfSlots/4, local)
}

// Try takes a slot, which Leave gives back, if one is free for an account.
func (s *Slots) Try(o sendlimit.Origin) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.try(s.member(&s.accounts, o.Account), o)
}

func (s *Slots) try(account *party, o sendlimit.Origin) bool {
	if !s.mayHave(account) {
		return false
	}
	s.grant(s.member(account, o.Campaign), 0)
	return true
}

// Take waits for a slot, which Leave gives back. It reports false if ctx ends or stop is closed
// first.
func (s *Slots) Take(ctx context.Context, stop <-chan struct{}, o sendlimit.Origin) bool {
	select {
	case <-stop:
		return false
	default:
	}
	s.mu.Lock()
	account := s.member(&s.accounts, o.Account)
	if s.try(account, o) {
		s.mu.Unlock()
		return true
	}
	campaign := s.member(account, o.Campaign)
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
func (s *Slots) Leave(o sendlimit.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(s.member(s.member(&s.accounts, o.Account), o.Campaign))
}

// Before returns about how many callers are before a new one: those with a slot, the waiting ones of
// its campaign, up to one more of each other campaign of its account, and likewise of each other
// account.
func (s *Slots) Before(o sendlimit.Origin) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	if account := s.accounts.members[o.Account]; account != nil {
		if campaign := account.members[o.Campaign]; campaign != nil {
			own = campaign.queued
		}
		own = account.before(o.Campaign, own)
	}
	return s.accounts.held + s.accounts.before(o.Account, own)
}

// Waiting returns how many callers wait.
func (s *Slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts.queued
}

// member returns a member of a party, and adds it if it is new. A new one comes after those that got
// a slot before.
func (s *Slots) member(of *party, name string) *party {
	m := of.members[name]
	if m == nil {
		s.granted++
		m = of.add(name, s.granted)
	}
	return m
}

// mayHave reports whether an account may have another slot now.
func (s *Slots) mayHave(account *party) bool {
	return s.accounts.held < s.all && (account.held < s.most || len(s.accounts.members) == 1)
}

// grant gives a campaign a slot. waited is 1 for a caller that has waited, and else 0.
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
