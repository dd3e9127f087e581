package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// SendingStop says that an operator has stopped all sending.
type SendingStop struct {
	Reason string    `json:"reason"`
	By     string    `json:"by"` // who stopped it
	Since  time.Time `json:"-"`  // by the server's clock
}

// MaxSendingReason is the most bytes of the Reason of a SendingStop.
const MaxSendingReason = 500

// sendingHolds is the greatest age of what a worker knows of the stop of all sending when it begins
// a call, so that none begins 2 seconds after a stop.
const sendingHolds = 1500 * time.Millisecond

// StopSending stops all sending for all workers. It returns the stop: stopped is false if it is one
// from before, which stays as it is. The error is an *InvalidError for a Reason of another form.
func (s *Store) StopSending(ctx context.Context, why SendingStop) (now SendingStop, stopped bool, err error) {
	const doing = "stopping all sending"
	given := why.Reason
	why.Reason = strings.TrimSpace(given)
	if why.Reason == "" || len(why.Reason) > MaxSendingReason || !utf8.ValidString(given) || strings.ContainsFunc(given, unicode.IsControl) {
		return now, false, &fault.InvalidError{
			Field: "reason", Value: given, Want: fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", MaxSendingReason),
		}
	}
	text, err := json.Marshal(why)
	if err != nil {
		return now, false, fmt.Errorf("%s: %w", doing, err)
	}
	in := script.Call(ctx, s.client, lua.ChannelStop, doing, []string{s.keys.Stopped()}, []any{script.Milliseconds(s.at), "", text})
	stopped, why.Since = in.Int(0) == 1, in.Time(1)
	if in.Err != nil || stopped {
		return why, stopped, in.Err
	}
	known, err := s.Sending(ctx)
	if known == nil { // it was started meanwhile
		return why, false, err
	}
	return *known, false, err
}

// StartSending ends the stop of all sending, and reports whether there was one.
func (s *Store) StartSending(ctx context.Context) (was bool, err error) {
	removed, err := s.client.HDel(ctx, s.keys.Stopped(), fieldStopped).Result()
	return removed > 0, store.Explain(err, "starting to send again")
}

// Sending returns the stop of all sending, nil if there is none.
func (s *Store) Sending(ctx context.Context) (*SendingStop, error) {
	value, err := s.client.HGet(ctx, s.keys.Stopped(), fieldStopped).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Explain(err, "looking whether sending is stopped")
	}
	return decodeSending(value), nil
}

// decodeSending reads a stop of all sending. One that is not readable is a stop.
func decodeSending(value string) *SendingStop {
	since, why, _ := strings.Cut(value, " ")
	stop := SendingStop{}
	_ = json.Unmarshal([]byte(why), &stop)
	stop.Since = unixMilli(since)
	return &stop
}

// SendingStopped reports whether an operator has stopped all sending, and how long a message waits
// then. Workers wake it sooner when sending goes on. What it says is at most sendingHolds old,
// unless the store does not answer.
func (s *Set) SendingStopped(ctx context.Context) (wait time.Duration, stopped bool) {
	stop := s.sending.Get(ctx, func(ctx context.Context) error {
		began := s.clock.Local()
		stop, err := s.store.Sending(ctx)
		if err != nil {
			s.logger.DebugContext(ctx, "could not look whether sending is stopped: using the last known state", "error", err)
			return err
		}
		s.learnSending(ctx, stop, began)
		return nil
	})
	return stoppedLatest + rand.N(stoppedLatest/10), stop != nil
}

// learnSending follows what a look, which began at a time, has read of the stop of all sending.
func (s *Set) learnSending(ctx context.Context, stop *SendingStop, began time.Time) {
	before, newer := s.sending.Learn(stop, began)
	if !newer {
		return
	}
	s.metrics.SendingStopped(stop != nil)
	if before == nil && stop != nil {
		s.logger.WarnContext(ctx, "an operator has stopped all sending: messages wait", "since", stop.Since)
	} else if before != nil && stop == nil {
		s.wakes.Store(wakeLooks)
		s.logger.WarnContext(ctx, "sending goes on", "stopped_since", before.Since)
	}
}
