package deliver

import (
	"container/heap"
	"container/list"
	"time"
)

// party is one of those that share Slots: an account, one of its campaigns, or the root that
// has the accounts as members.
type party struct {
	name    string
	of      *party // nil for the root
	held    int    // slots that its callers have
	queued  int    // callers that wait
	granted uint64 // number of the last slot that it got
	used    time.Time
	members map[string]*party
	waiting parties   // the members with callers that wait
	at      int       // its index in of.waiting, while queued is not zero
	line    list.List // of a campaign: a channel for each caller that waits, to be closed
}

// add adds a member.
func (p *party) add(name string, granted uint64) *party {
	m := &party{name: name, of: p, granted: granted}
	if p.members == nil {
		p.members = make(map[string]*party)
	}
	p.members[name] = m
	return m
}

// before returns how many callers of the members get a slot before one of a member before which own
// are of its own: these, and as many and one more of each other member.
func (p *party) before(member string, own int) int {
	before := own
	for _, other := range p.waiting {
		if other.name != member {
			before += min(other.queued, own+1)
		}
	}
	return before
}

// idle reports whether no caller has a slot or waits.
func (p *party) idle() bool { return p.held == 0 && p.queued == 0 }

// change changes how many slots a campaign has and how many of its callers wait.
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

// parties is a heap. Its first one gets the next slot.
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
