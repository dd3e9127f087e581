package quota

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// DryRun is a dry run of many charges. It begins with the usage of each account and throttle
// when it first needs it, counts on in memory, and writes nothing. Charges.StartDryRun returns one;
// the zero value is not usable. It is safe for concurrent use.
type DryRun struct {
	charges *Charges

	mu      sync.Mutex
	used    map[string]int64 // by the counter's key
	open    map[string]int64 // those whose hold is neither kept nor given back, by the counter's key
	decided chan struct{}    // is closed and replaced when a hold is
}

// StartDryRun begins a dry run.
func (c *Charges) StartDryRun() *DryRun {
	return &DryRun{charges: c, used: make(map[string]int64), open: make(map[string]int64), decided: make(chan struct{})}
}

// Hold returns what Charges.Hold would return if all messages that this dry run has accepted had been
// charged. Its hold is for a timeline's DryRun and does not expire: keep it or give it back. If only
// holds that are still open leave no message, it waits for them, or until ctx ends. A request with
// an Info must be the only one of the dry run.
func (r *DryRun) Hold(ctx context.Context, request Request) (Charge, error) {
	if err := request.check(); err != nil {
		return Charge{}, err
	}
	usage, keys, err := r.usage(ctx, request)
	if err != nil {
		return Charge{}, err
	}
	charge := Charge{At: request.At, Now: request.Now}
	if charge.Now.IsZero() {
		if charge.Now, err = r.charges.now(ctx); err != nil {
			return Charge{}, err
		}
	}
	charge.Hold = sendlimit.Hold{
		Account: request.Account.Name, Throttle: request.Throttle, NotAfter: time.UnixMilli(script.EndOfTime).UTC(),
	}
	for _, u := range usage {
		if charge.Hold.Until.IsZero() || u.Until.Before(charge.Hold.Until) {
			charge.Hold.Until = u.Until
		}
		if u.From.After(charge.Hold.From) {
			charge.Hold.From = u.From
		}
	}
	if !charge.Now.Before(charge.Hold.Until) {
		return Charge{At: request.At, Now: charge.Now, Code: fault.CodeOutsideHold}, nil
	}
	for {
		decided := r.charge(request, usage, keys, &charge)
		if decided == nil {
			return charge, nil
		}
		select {
		case <-decided:
		case <-ctx.Done():
			return Charge{}, ctx.Err()
		}
	}
}

// charge charges a request, or refuses it. While open holds may still make room, it does neither and
// returns a channel that is closed when one of them is kept or given back.
func (r *DryRun) charge(request Request, usage []counters.Usage, keys []string, charge *Charge) (decided <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.ownKeys(request)
	for i := range usage {
		u := &usage[i]
		if u.Used = r.used[keys[i]]; slices.Contains(own, keys[i]) {
			u.Used = max(u.Used-1, 0) // the charge is taken over
		}
		if u.Counter.Limit > 0 && u.Remaining() == 0 && u.Used-r.open[keys[i]] < u.Counter.Limit {
			return r.decided
		}
	}
	var charges charged
	for i, u := range usage {
		full := u.Counter.Limit > 0 && u.Remaining() == 0
		switch {
		case i == 2 || request.Account.Name == "":
			charges.throttle, charges.period = request.Throttle.Name, u.From
			if full && charge.Code == "" {
				charge.full(u)
			}
		case full:
			charge.refuse(u) // if both are full, by the day
		case i == 0:
			charges.hour.From = u.From
		default:
			charge.Day, charges.day.From = u, u.From
		}
	}
	if charge.Code != "" {
		charge.Hold = sendlimit.Hold{}
		return nil
	}
	for _, key := range keys {
		r.used[key]++
		r.open[key]++
	}
	charge.Allowed = true
	if request.Account.Name != "" {
		charge.Day.Used++
	}
	charge.Hold.Attempt = charges.attempt(keyspace.NewToken(), 0)
	return nil
}

// ownKeys lists the counters that have the charge of a request's Info.
func (r *DryRun) ownKeys(request Request) []string {
	if request.Info == nil {
		return nil
	}
	former := chargedBy(request.Info.Hold)
	var keys []string
	if former.throttle != "" {
		keys = append(keys, r.charges.keys.Charged(subjectOf(former.throttle), "h", former.period))
	}
	if account := request.Info.Account; account != "" {
		keys = append(keys, r.keys(account, former.hour.From, former.day.From)...)
	}
	return keys
}

// NextOpen returns what Charges.NextOpen would return if all holds of this dry run had been
// charged.
func (r *DryRun) NextOpen(ctx context.Context, request Request, until time.Time) (time.Time, error) {
	return r.charges.nextOpen(ctx, request, until, func(key string, used int64) int64 {
		r.mu.Lock()
		defer r.mu.Unlock()
		if known, ok := r.used[key]; ok {
			return known
		}
		return used
	})
}

// Keep ends the hold of an accepted message: its charge stays.
func (r *DryRun) Keep(h sendlimit.Hold) { r.end(h, 0) }

// GiveBack ends the hold of a message that is not accepted, and gives its charge back.
func (r *DryRun) GiveBack(h sendlimit.Hold) { r.end(h, 1) }

func (r *DryRun) end(h sendlimit.Hold, given int64) {
	charges := chargedBy(h.Attempt)
	var keys []string
	if h.Account != "" {
		keys = r.keys(h.Account, charges.hour.From, charges.day.From)
	}
	if charges.throttle != "" {
		keys = append(keys, r.charges.keys.Charged(subjectOf(charges.throttle), "h", charges.period))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		r.used[key] -= given
		r.open[key]--
	}
	close(r.decided)
	r.decided = make(chan struct{})
}

// usage returns the periods of a request and the keys of their counters: the hour and the day of
// its account, then that of its throttle. It reads unknown counters.
func (r *DryRun) usage(ctx context.Context, request Request) (usage []counters.Usage, keys []string, err error) {
	if request.Account.Name != "" {
		if usage, err = r.charges.periods(request.Account, request.Tier, request.At); err != nil {
			return nil, nil, err
		}
		keys = r.keys(request.Account.Name, usage[0].From, usage[1].From)
		if err := r.learn(ctx, keys); err != nil {
			return nil, nil, err
		}
	}
	if t := request.Throttle; !t.IsZero() {
		key := r.charges.throttleKey(t, request.At)
		if err := r.learn(ctx, []string{key}); err != nil {
			return nil, nil, err
		}
		usage, keys = append(usage, usageOf(t, 0, request.At)), append(keys, key)
	}
	return usage, keys, nil
}

// learn reads unknown counters of one partition.
func (r *DryRun) learn(ctx context.Context, keys []string) error {
	r.mu.Lock()
	known := 0
	for _, key := range keys {
		if _, ok := r.used[key]; ok {
			known++
		}
	}
	r.mu.Unlock()
	if known == len(keys) {
		return nil
	}
	used, err := r.charges.used(ctx, keys)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, key := range keys {
		if _, ok := r.used[key]; !ok {
			r.used[key] = used[i]
		}
	}
	return nil
}

func (r *DryRun) keys(account string, hour, day time.Time) []string {
	return []string{r.charges.keys.Charged(account, "h", hour), r.charges.keys.Charged(account, "d", day)}
}
