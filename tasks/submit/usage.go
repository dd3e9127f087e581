package submit

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Usage returns how full the rules of a user are around a time, and which times are free, see
// Timeline.Usage.
func (s *Submitter) Usage(ctx context.Context, r sendlimit.UsageRequest) (sendlimit.Usage, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return sendlimit.Usage{}, err
	}
	return t.Usage(ctx, r)
}

// NextFree returns the next free times of a user, see Timeline.NextFree.
func (s *Submitter) NextFree(ctx context.Context, r sendlimit.NextFreeRequest) ([]time.Time, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return nil, err
	}
	return t.NextFree(ctx, r)
}

// UsageOf returns the answer to a request, with the reservations in its span.
func UsageOf(r sendlimit.UsageRequest, u sendlimit.Usage, sends []keyspace.Reservation) message.Usage {
	usage := message.Usage{
		User: r.User, At: message.Time{Time: u.At}, From: message.Time{Time: r.From}, Until: message.Time{Time: r.To},
		Rules: make([]message.RuleUsage, len(u.Rules)), Free: stretchesOf(u.Free), Blocked: u.Blocked, OptedOut: u.OptedOut, Sends: make([]message.Conflict, len(sends)),
	}
	for i, rule := range u.Rules {
		kind := "sliding"
		if rule.Rule.Calendar() {
			kind = "calendar"
		}
		usage.Rules[i] = message.RuleUsage{
			Rule: rule.Rule.String(), Category: rule.Category, Limit: rule.Rule.Limit, Kind: kind, WindowSeconds: int(rule.Rule.Window / time.Second),
			Used: rule.Used, From: message.Time{Time: rule.From}, Until: message.Time{Time: rule.Until},
		}
	}
	if len(u.Quiet) > 0 {
		usage.Quiet = stretchesOf(u.Quiet)
	}
	for i, m := range sends {
		usage.Sends[i] = message.Conflict{ID: m.ID, SendAt: message.Time{Time: m.At}}
	}
	return usage
}

func stretchesOf(list []calendar.Stretch) []message.Stretch {
	stretches := make([]message.Stretch, len(list))
	for i, s := range list {
		stretches[i] = message.Stretch{From: message.Time{Time: s.From}, Until: message.Time{Time: s.Until}}
	}
	return stretches
}
