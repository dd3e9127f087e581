package api

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Limits bound the resources of callers. Zero means the default.
type Limits struct {
	Body    int64         // bytes of a request's body, except a batch's
	Timeout time.Duration // to read a request and to answer it, except streams

	// InFlight is how many requests are answered at a time, except streams. An account may have at
	// most InFlightPerAccount of them (zero means half), and ReadsPerAccount reads (zero means half
	// of those). Operators, with the scope admin or without the need for a key, have no such share.
	InFlight, InFlightPerAccount, ReadsPerAccount int

	// Streams is how many streams run at a time: batches, dry runs, refits,
	// exports, erasures and work on campaigns.
	Streams int
	// StreamsPerAccount is how many of them an account may have. All callers without a
	// key are one account. Zero means a quarter of Streams, at least one.
	StreamsPerAccount int
	// Followers is how many streams of events may run at a time, and FollowersPerAccount how many
	// of one account. Zero means 16, but at most half of Followers.
	Followers, FollowersPerAccount int
	// DryRunLines is how many lines of a dry run have copies at a time, see groups.
	DryRunLines int
	Idle        time.Duration // how long a batch may take to send its next line; zero means Timeout
	// Count is how long one answer counts the messages of a campaign. Zero means a third of
	// Timeout.
	Count time.Duration
	// LookAgain is how often the key of a stream is checked again. Zero means DefaultLookAgain.
	LookAgain time.Duration
}

// The default limits.
const (
	DefaultBody     = 64 << 10
	DefaultInFlight = 256
	DefaultStreams  = 32
	DefaultTimeout  = 30 * time.Second
	// DefaultDryRunLines is how many lines of a dry run have copies at a time.
	DefaultDryRunLines = 10_000

	DefaultFollowers           = 512
	DefaultFollowersPerAccount = 16
)

func (l Limits) withDefaults() (Limits, error) {
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"body", l.Body},
		{"in_flight", int64(l.InFlight)},
		{"in_flight_per_account", int64(l.InFlightPerAccount)},
		{"reads_per_account", int64(l.ReadsPerAccount)},
		{"streams", int64(l.Streams)},
		{"streams_per_account", int64(l.StreamsPerAccount)},
		{"followers", int64(l.Followers)},
		{"followers_per_account", int64(l.FollowersPerAccount)},
		{"dry_run_lines", int64(l.DryRunLines)},
		{"idle", int64(l.Idle)},
		{"count", int64(l.Count)},
		{"look_again", int64(l.LookAgain)},
		{"timeout", int64(l.Timeout)},
	} {
		if limit.value < 0 {
			return Limits{}, &fault.InvalidError{
				Field: limit.field, Value: strconv.FormatInt(limit.value, 10), Want: "1 or more, or 0 for the default",
			}
		}
	}
	if l.Body == 0 {
		l.Body = DefaultBody
	}
	l.InFlight = cmp.Or(l.InFlight, DefaultInFlight)
	l.InFlightPerAccount = cmp.Or(l.InFlightPerAccount, max(l.InFlight/2, 1))
	l.ReadsPerAccount = cmp.Or(l.ReadsPerAccount, max(l.InFlightPerAccount/2, 1))
	if l.Streams == 0 {
		l.Streams = DefaultStreams
	}
	if l.StreamsPerAccount == 0 {
		l.StreamsPerAccount = max(l.Streams/4, 1)
	}
	l.Followers = cmp.Or(l.Followers, DefaultFollowers)
	l.FollowersPerAccount = cmp.Or(l.FollowersPerAccount, min(DefaultFollowersPerAccount, max(l.Followers/2, 1)))
	l.DryRunLines = cmp.Or(l.DryRunLines, DefaultDryRunLines)
	if l.Timeout == 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Idle == 0 {
		l.Idle = l.Timeout
	}
	l.Count = cmp.Or(l.Count, l.Timeout/3)
	l.LookAgain = cmp.Or(l.LookAgain, DefaultLookAgain)
	return l, nil
}

// bodies returns the limits of a request's body.
func (s *server) bodies() web.BodyLimits {
	return web.BodyLimits{Bytes: s.Limits.Body, Time: s.Limits.Timeout}
}

// bounded returns a handler that limits the time of a route's answer, and for a page that needs no
// key, the number of requests at a time.
func (s *server) bounded(rt route) http.HandlerFunc {
	pattern := rt.Method + " " + rt.Path
	return func(w http.ResponseWriter, r *http.Request) {
		e := exchangeOf(r.Context())
		e.route, e.path = pattern, rt.Path
		if rt.scope == "" && !rt.monitors {
			if err := e.slot.take(s.pageReads, holder{account: s.address(r)}); err != nil {
				s.writeError(w, r, err)
				return
			}
			defer e.slot.leave()
		}
		ctx := r.Context()
		if !rt.attended {
			// A client that closes its half of the connection, which would end the context, still
			// waits for its answer.
			ctx = context.WithoutCancel(ctx)
		}
		if !rt.streams {
			deadline := s.Now().Add(s.Limits.Timeout)
			control := http.NewResponseController(w)
			// Some connections of tests have no deadlines.
			_ = control.SetReadDeadline(deadline)
			// Leave time to answer a request that ran into the first deadline.
			_ = control.SetWriteDeadline(deadline.Add(lastAnswerWithin))
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.Limits.Timeout)
			defer cancel()
		}
		r = r.WithContext(ctx)
		if !rt.streams || rt.attended {
			// The lines of a batch are answered while they arrive. One byte more than the limit
			// shows that a body is too long.
			r.Body = &body{
				ReadCloser: r.Body, ctx: ctx, slot: &e.slot, coming: s.coming, most: s.Limits.Body + 1, size: r.ContentLength,
			}
		}
		rt.handle(w, r)
	}
}

// lastAnswerWithin is how long an answer may take after its request timed out.
const lastAnswerWithin = 5 * time.Second
