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

// Limits of the holds of one account: how many calls of the store run at a time, how many
// holds share one, and how many may wait for one. Few large calls cost Redis less.
const (
	holdsAtOnce   = 1
	holdsTogether = 64
	holdsWaiting  = 4096
)

// holds makes the holds of accounts. The submits of one account that come while calls for
// it are under way share the next ones.
type holds struct {
	charges *quota.Charges
	running sync.WaitGroup

	mu        sync.Mutex
	byAccount map[string]*gather.Gatherer[*holdCall]
}

// holdCall is a hold that is asked for, with its answer.
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

// of returns what gathers the holds of an account.
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

// wait waits for calls that are under way. No hold may be asked for any more.
func (h *holds) wait() { h.running.Wait() }
