package deliver

import (
	"container/heap"
	"container/list"
	"time"
)

// party shares Slots: an account, a campaign of it, or the root, whose members are the accounts.
type party struct {
	name    string
	of      *party // nil for the root
	held    int    // slots
	queued  int    // waiting callers
	granted uint64 // number of its last slot
	used    time.Time
	members map[string]*party
	waiting parties   // the members with waiting callers
	at      int       // its index in of.waiting, while queued is not zero
	line    list.List // of a campaign: a channel for each waiting caller, to be closed
}

func (p *party) add(name string, granted uint64) *party {
	m := &party{name: name, of: p, granted: granted}
	if p.members == nil {
		p.members = make(map[string]*party)
	}
	p.members[name] = m
	return m
}

// before returns how many callers get a slot before a caller of a member that has own callers of the
// same member before it: these, and up to own+1 of each other member.
func (p *party) before(member string, own int) int {
	before := own
	for _, other := range p.waiting {
		if other.name != member {
			before += min(other.queued, own+1)
		}
	}
	return before
}

func (p *party) idle() bool { return p.held == 0 && p.queued == 0 }

// change adds to the slots and the waiting callers of a campaign.
func (p *party) change(held, queued int) {
	for ; p != nil; p = p.of {
		was := p.queued
		p.held += held
		p.queued += queued
		switch {
		case p.of == nil:
		case was == 0 && p.queued > 0:
			heap.Push(&p.of.waiting, p)
		case was > 0 && p.queued == 0:
			heap.Remove(&p.of.waiting, p.at)
		case was > 0:
			heap.Fix(&p.of.waiting, p.at)
		}
		if p.idle() && p.of != nil && p.of.of != nil {
			delete(p.of.members, p.name) // a campaign
		}
	}
}

// parties is a heap. The first party gets the next slot.
type parties []*party

func (w parties) Len() int { return len(w) }

func (w parties) Less(i, j int) bool {
	if w[i].held != w[j].held {
		return w[i].held < w[j].held
	}
	return w[i].granted < w[j].granted
}

func (w parties) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}

func (w *parties) Push(p any) {
	added := p.(*party) //nolint:forcetypeassert // change pushes no other
	added.at = len(*w)
	*w = append(*w, added)
}

func (w *parties) Pop() any {
	last := len(*w) - 1
	p := (*w)[last]
	*w = (*w)[:last]
	return p
}
