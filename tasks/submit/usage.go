package submit

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// Usage says how full the rules of a user are around a time, and which stretches
// are free, see Timeline.Usage.
func (s *Submitter) Usage(ctx context.Context, r sendlimit.UsageRequest) (usage sendlimit.Usage, err error) {
	l, err := s.Rules.Limiters(ctx)
	if err != nil {
		return usage, err
	}
	err = s.Rules.Do(ctx, l, func(l *rules.Limiters) (err error) {
		usage, err = l.Timeline.Usage(ctx, r)
		return err
	})
	return usage, err
}

// NextFree gives the next free times of a user, see Timeline.NextFree.
func (s *Submitter) NextFree(ctx context.Context, r sendlimit.NextFreeRequest) (times []time.Time, err error) {
	l, err := s.Rules.Limiters(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Rules.Do(ctx, l, func(l *rules.Limiters) (err error) {
		times, err = l.Timeline.NextFree(ctx, r)
		return err
	})
	return times, err
}
