package api

import (
	"context"
	"slices"
	"sync"
	"time"
)

// aloneAfter is how long an account must have been the only one to be alone. It is short: a few
// requests a second of one account must not slow another.
const aloneAfter = 50 * time.Millisecond

// holder groups requests that are counted together: those of all operators' keys of an account,
// those of its other keys, or all requests without a key.
type holder struct {
	account  string
	operator bool // a key with admin, or no key where none is required
}

func (c caller) holder() holder { return holder{account: c.account(), operator: !c.confined()} }

// slots bounds how many requests of a kind are answered at a time, and shares them among accounts.
// Each process counts separately.
//
// An account holds at most perAccount slots, and at most as many as remain free. So one account
// gets half of them, two get a third each, and a slot always remains for the next account. If
// perAccount is all slots, there are no shares. Once nobody else has got one for aloneAfter, an
// account holds up to alone, if that is more.
//
// Operators hold at most perOperator. The first reserve of them get a slot even if others hold
// all, so more than most can be held.
type slots struct {
	most, perAccount, alone, perOperator, reserve int
	// full returns the error if all slots are held, share the error for an account that holds its
	// maximum.
	full  func() error
	share func(of holder, held int) error

	now   func() time.Time // for alone
	mu    sync.Mutex
	last  holder    // who got a slot last
	since time.Time // since when nobody else has

	taken, operators int // slots that are held, and those that operators hold
	held             map[holder]int
	waiting          map[holder][]*waiter
	next             []holder // those with waiting requests; who just got a slot is the last
}

type waiter struct{ free chan struct{} }

// reserveOf returns how many of most slots are always available to operators.
func reserveOf(most int) int { return max(most/8, 1) }

// refuse returns an error if a holder can't get a slot now. The caller holds the lock.
func (p *slots) refuse(of holder) error {
	held := p.held[of]
	most := p.perAccount
	if p.alone > most && of == p.last && p.now().Sub(p.since) > aloneAfter {
		most = p.alone
	}
	if of.operator {
		most = p.perOperator
	}
	switch {
	case p.taken >= p.most && (!of.operator || p.operators >= p.reserve):
		return p.full()
	case held >= most, !of.operator && most < p.most && held >= p.most-p.taken:
		return p.share(of, held)
	}
	return nil
}

// hold counts a slot. The caller holds the lock.
func (p *slots) hold(of holder) {
	if p.alone > 0 && of != p.last {
		p.last, p.since = of, p.now()
	}
	if p.held == nil {
		p.held = make(map[holder]int)
	}
	p.held[of]++
	p.taken++
	if of.operator {
		p.operators++
	}
}

// take takes a slot, or returns an error if it can't.
func (p *slots) take(of holder) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refuse(of); err != nil {
		return err
	}
	p.hold(of)
	return nil
}

// await waits for a slot until ctx ends. It takes a free slot even after the end.
func (p *slots) await(ctx context.Context, of holder) error {
	p.mu.Lock()
	refused := p.refuse(of)
	if refused == nil {
		p.hold(of)
		p.mu.Unlock()
		return nil
	}
	one := &waiter{free: make(chan struct{})}
	if p.waiting == nil {
		p.waiting = make(map[holder][]*waiter)
	}
	if len(p.waiting[of]) == 0 {
		p.next = append(p.next, of)
	}
	p.waiting[of] = append(p.waiting[of], one)
	p.mu.Unlock()

	select {
	case <-one.free:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.waiting[of], one)
	if at < 0 { // it got a slot meanwhile
		return nil
	}
	p.dequeue(of, at)
	return refused
}

// dequeue removes a waiting request. The caller holds the lock.
func (p *slots) dequeue(of holder, at int) {
	p.waiting[of] = slices.Delete(p.waiting[of], at, at+1)
	if len(p.waiting[of]) == 0 {
		delete(p.waiting, of)
		p.next = slices.DeleteFunc(p.next, func(h holder) bool { return h == of })
	}
}

// leave gives a slot back. Waiting requests get it first, in rotation among accounts.
func (p *slots) leave(of holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if of.operator {
		p.operators--
	}
	if p.held[of]--; p.held[of] == 0 {
		delete(p.held, of)
	}
	for {
		at := slices.IndexFunc(p.next, func(h holder) bool { return p.refuse(h) == nil })
		if at < 0 {
			return
		}
		chosen := p.next[at]
		p.next = append(slices.Delete(p.next, at, at+1), chosen)
		first := p.waiting[chosen][0]
		p.dequeue(chosen, 0)
		p.hold(chosen)
		close(first.free)
	}
}
