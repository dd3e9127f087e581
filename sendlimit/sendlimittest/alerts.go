package sendlimittest

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Alerts is a model of the alerts about users' daily rules. It counts windows
// like Model. The caller tells it what a timeline holds.
type Alerts struct {
	daily      []rule
	day        rule // the natural day that an alert is about
	policy     policy.Policy
	thresholds []int
	remembered int64           // ms, as in Model
	flags      map[string]flag // by user and start of the day
}

// flag is the last alert about a day.
type flag struct {
	threshold int
	from      int64
	expires   int64
}

// flagKept is the time that a flag outlives its day.
const flagKept = 30 * time.Hour

// Alerted are the entries that an alert adds to the store.
type Alerted struct {
	Notice   string // id of the notice for the user's contact, or ""
	Gathered string // entry for the hourly mail of the policy, or ""
}

// NewAlerts returns a model of a policy's alerts. None has been raised.
func NewAlerts(policy policy.Policy) (*Alerts, error) {
	a := &Alerts{flags: make(map[string]flag)}
	return a, a.follow(policy)
}

// follow changes the policy. Alerts that were raised are not raised again.
func (a *Alerts) follow(p policy.Policy) error {
	zone, err := calendar.ParseTimeZone(p.TimeZone)
	if err != nil {
		return fmt.Errorf("model of alerts: %w", err)
	}
	a.policy, a.daily, a.thresholds = p, nil, p.AlertAt
	if a.thresholds == nil {
		a.thresholds = []int{80, 100}
	}
	a.day = rule{Rule: policy.Rule{Limit: 1, Period: calendar.Day}, zone: zone}
	a.remembered = (p.LargestWindow() + policy.Grace).Milliseconds()
	for _, r := range p.Rules {
		if r.Period == calendar.Day || r.Window == 24*time.Hour {
			a.daily = append(a.daily, rule{Rule: r, zone: zone})
		}
	}
	return nil
}

// Take returns the alert that a new place at a time raises. held are all places
// of the user, in the order of List, with the new one among them. contact
// reports whether the user has a contact.
func (a *Alerts) Take(user string, at, now time.Time, held []keyspace.Reservation, contact bool) Alerted {
	if !contact && a.policy.AlertTo == "" {
		return Alerted{}
	}
	var tl timeline
	for _, r := range held {
		tl = append(tl, entry{at: cut(r.At), id: r.ID})
	}
	tl = tl.since(cut(now) - a.remembered)
	used, limit := 0, 1
	for _, r := range a.daily {
		if u := r.usage(tl, cut(at)); u.Used*limit > used*r.Limit {
			used, limit = u.Used, r.Limit
		}
	}
	crossed := 0
	for _, threshold := range a.thresholds {
		if used*100 >= threshold*limit {
			crossed = threshold
		}
	}
	day := a.day.usage(tl, cut(at))
	key := fmt.Sprintf("%s on %d", user, cut(day.From))
	if crossed <= a.flags[key].threshold || !now.Before(day.Until) {
		return Alerted{}
	}
	a.flags[key] = flag{crossed, cut(day.From), cut(day.Until.Add(flagKept))}
	var raised Alerted
	if contact {
		raised.Notice = fmt.Sprintf("user_quota/%d/%d/%s", cut(day.From), crossed, user)
	}
	if a.policy.AlertTo != "" {
		raised.Gathered = fmt.Sprintf("%d/%d/%d/%d/%s/%s", cut(day.From), crossed, used, limit, a.policy.Name, user)
	}
	return raised
}
