package tasks

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// usageAround is how much of a timeline is looked at on each side of a time.
const usageAround = 12 * time.Hour

// UsageSpan is the stretch of a timeline that is looked at around a time, unless
// the caller says otherwise: whole minutes, so that drawn rows begin with one.
func UsageSpan(around time.Time) (from, to time.Time) {
	return around.Add(-usageAround).Truncate(time.Minute), around.Add(usageAround).Truncate(time.Minute)
}

// Usage says how full a user's rules are around a time, and what is taken and
// free in a stretch of the timeline, as every surface spells it.
type Usage struct {
	User  string      `json:"user"`
	At    Time        `json:"at"`
	From  Time        `json:"from"`
	To    Time        `json:"to"`
	Rules []RuleUsage `json:"rules"`
	Free  []Stretch   `json:"free"`
	// Blocked says that the user is, so that nothing is free.
	Blocked bool       `json:"blocked,omitempty"`
	Quiet   []Stretch  `json:"quiet,omitempty"` // what is in quiet hours
	Sends   []Conflict `json:"sends"`           // sent and unsent
	// More says that there are more sends than those listed.
	More bool `json:"more,omitempty"`
}

// RuleUsage is how full a rule is, which is spelled as that of a Violation: of a
// sliding rule in the fullest window that has the time, of a calendar rule in
// the period that has it.
type RuleUsage struct {
	Rule          string `json:"rule"`
	Category      string `json:"category,omitempty"`
	Limit         int    `json:"limit"`
	Kind          string `json:"kind"`
	WindowSeconds int    `json:"window_seconds,omitempty"`
	Used          int    `json:"used"`
	From          Time   `json:"from"`
	Until         Time   `json:"until"`
}

// Stretch is a stretch of time, Until not included.
type Stretch struct {
	From  Time `json:"from"`
	Until Time `json:"until"`
}

// UsageOf spells the answer to a request, with the reservations between its From
// and To.
func UsageOf(r sendlimit.UsageRequest, u sendlimit.Usage, sends []keyspace.Reservation) Usage {
	usage := Usage{
		User: r.User, At: Time{u.At}, From: Time{r.From}, To: Time{r.To},
		Rules: make([]RuleUsage, len(u.Rules)), Free: stretchesOf(u.Free), Blocked: u.Blocked, Sends: make([]Conflict, len(sends)),
	}
	for i, rule := range u.Rules {
		kind := "sliding"
		if rule.Rule.Calendar() {
			kind = "calendar"
		}
		usage.Rules[i] = RuleUsage{
			Rule: rule.Rule.String(), Category: rule.Category, Limit: rule.Rule.Limit, Kind: kind, WindowSeconds: int(rule.Rule.Window / time.Second),
			Used: rule.Used, From: Time{rule.From}, Until: Time{rule.Until},
		}
	}
	if len(u.Quiet) > 0 {
		usage.Quiet = stretchesOf(u.Quiet)
	}
	for i, m := range sends {
		usage.Sends[i] = Conflict{ID: m.ID, SendAt: Time{m.At}}
	}
	return usage
}

func stretchesOf(list []calendar.Stretch) []Stretch {
	stretches := make([]Stretch, len(list))
	for i, s := range list {
		stretches[i] = Stretch{From: Time{s.From}, Until: Time{s.Until}}
	}
	return stretches
}

// Usage says how full the rules of a user are around a time, and which stretches
// are free, see Timeline.Usage.
func (s *Submitter) Usage(ctx context.Context, r sendlimit.UsageRequest) (usage sendlimit.Usage, err error) {
	l, err := s.rules.limiters(ctx)
	if err != nil {
		return usage, err
	}
	err = s.rules.do(ctx, l, func(l *limiters) (err error) {
		usage, err = l.timeline.Usage(ctx, r)
		return err
	})
	return usage, err
}

// NextFree gives the next free times of a user, see Timeline.NextFree.
func (s *Submitter) NextFree(ctx context.Context, r sendlimit.NextFreeRequest) (times []time.Time, err error) {
	l, err := s.rules.limiters(ctx)
	if err != nil {
		return nil, err
	}
	err = s.rules.do(ctx, l, func(l *limiters) (err error) {
		times, err = l.timeline.NextFree(ctx, r)
		return err
	})
	return times, err
}
