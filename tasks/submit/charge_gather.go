package submit

import (
	"context"
	"fmt"
	"sync"

	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/gather"
)

// Limits of the holds of one account: concurrent calls of the store, holds in a call, and waiting
// holds. Few large calls cost Redis less.
const (
	holdsAtOnce   = 1
	holdsTogether = 64
	holdsWaiting  = 4096
)

// holds makes the holds of accounts. While calls for an account are running, its new submits share
// the next ones.
type holds struct {
	charges *quota.Charges
	running sync.WaitGroup

	mu        sync.Mutex
	byAccount map[string]*gather.Gatherer[*holdCall]
}

// holdCall is the request for a hold, with its answer.
type holdCall struct {
	request quota.Request
	answer  quota.Answer
}

func newHolds(charges *quota.Charges) *holds {
	return &holds{charges: charges, byAccount: make(map[string]*gather.Gatherer[*holdCall])}
}

// hold is Charges.Hold.
func (h *holds) hold(ctx context.Context, r quota.Request) (quota.Charge, error) {
	if r.Account.Name == "" || r.Info != nil || !r.Throttle.IsZero() {
		return h.charges.Hold(ctx, r)
	}
	call := &holdCall{request: r}
	if err := h.of(r.Account.Name).Do(ctx, call); err != nil {
		return quota.Charge{}, store.Explain(err, "charging an account")
	}
	return call.answer.Charge, call.answer.Err
}

// of returns the gatherer of an account's holds.
func (h *holds) of(account string) *gather.Gatherer[*holdCall] {
	h.mu.Lock()
	defer h.mu.Unlock()
	g, known := h.byAccount[account]
	if !known {
		full := func() error {
			return &fault.UnavailableError{Detail: fmt.Sprintf("%d messages of account %s wait for Redis,"+
				" and no more are at a time: try again in a moment", holdsWaiting, account)}
		}
		g = gather.New(gather.Options{AtOnce: holdsAtOnce, Together: holdsTogether, Backlog: holdsWaiting, Full: full}, &h.running, h.holdEach)
		h.byAccount[account] = g
	}
	return g
}

func (h *holds) holdEach(ctx context.Context, calls []*holdCall) {
	requests := make([]quota.Request, len(calls))
	for i, call := range calls {
		requests[i] = call.request
	}
	for i, answer := range h.charges.HoldEach(ctx, requests...) {
		calls[i].answer = answer
	}
}

// wait waits for running calls. Do not call hold afterwards.
func (h *holds) wait() { h.running.Wait() }
