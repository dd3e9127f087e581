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

	mu   sync.Mutex
	used map[string]int64 // by the counter's key
}

// StartDryRun begins a dry run.
func (c *Charges) StartDryRun() *DryRun {
	return &DryRun{charges: c, used: make(map[string]int64)}
}

// Hold returns what Charges.Hold would return if all holds of this dry run had been charged. Its
// hold is for a timeline's DryRun and does not expire. A request with an Info must be the only one
// of the dry run.
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
	r.mu.Lock()
	defer r.mu.Unlock()
	var charges charged
	own := r.ownKeys(request)
	for i, u := range usage {
		if u.Used = r.used[keys[i]]; slices.Contains(own, keys[i]) {
			u.Used = max(u.Used-1, 0) // the charge is taken over
		}
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
		return charge, nil
	}
	for _, key := range keys {
		r.used[key]++
	}
	charge.Allowed = true
	if request.Account.Name != "" {
		charge.Day.Used++
	}
	charge.Hold.Attempt = charges.attempt(keyspace.NewToken(), 0)
	return charge, nil
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

// GiveBack gives back a hold.
func (r *DryRun) GiveBack(h sendlimit.Hold) {
	charges := chargedBy(h.Attempt)
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.Account != "" {
		for _, key := range r.keys(h.Account, charges.hour.From, charges.day.From) {
			r.used[key] = max(r.used[key]-1, 0)
		}
	}
	if charges.throttle != "" {
		key := r.charges.keys.Charged(subjectOf(charges.throttle), "h", charges.period)
		r.used[key] = max(r.used[key]-1, 0)
	}
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
