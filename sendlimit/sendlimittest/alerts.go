package sendlimittest

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Alerts says which alerts of users' daily rules have to be raised. It shares
// with Model how windows are counted, and is told what a timeline holds.
type Alerts struct {
	daily      []rule
	day        rule // the natural day, whose flag an alert sets
	policy     policy.Policy
	thresholds []int
	remembered int64           // ms, as in Model
	flags      map[string]flag // by user and start of the day
}

// flag is what was alerted of a day.
type flag struct {
	threshold int
	from      int64
	expires   int64
}

// flagKept is how long a flag outlives its day.
const flagKept = 30 * time.Hour

// Alerted is what has to be found in the store once an alert was raised.
type Alerted struct {
	Notice   string // id of the notice for the user's contact; "" for none
	Gathered string // the entry for the hourly mail of the policy; "" for none
}

// NewAlerts returns the alerts of a policy, none of which has been raised.
func NewAlerts(policy policy.Policy) (*Alerts, error) {
	a := &Alerts{flags: make(map[string]flag)}
	return a, a.follow(policy)
}

// follow goes on under another policy: what was alerted stays alerted.
func (a *Alerts) follow(p policy.Policy) error {
	zone, err := time.LoadLocation(p.TimeZone)
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

// Taken says what the place at `at` raises, which a user has just been given.
// held are all of the user's places, that one included, in the order of List;
// contact is whether the user has one.
func (a *Alerts) Taken(user string, at, now time.Time, held []keyspace.Reservation, contact bool) Alerted {
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
