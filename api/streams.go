package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// streamed returns a handler that gives a stream its place before next runs. An account has
// only a share of the places, so that one account can't take all.
func (s *server) streamed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account := callerOf(r.Context()).account()
		if s.limits.StreamsPerAccount < s.limits.Streams {
			if !s.shares.take(account) {
				s.writeError(w, r, s.noShare(r.Context()))
				return
			}
			defer s.shares.leave(account)
		}
		if err := exchangeOf(r.Context()).place.moveTo(s.streams, s.limits.Streams, "batches"); err != nil {
			s.writeError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// followed is streamed for streams of events. A page of events counts as any other request.
func (s *server) followed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here := &exchangeOf(r.Context()).place
		var err error
		if r.URL.Query().Get("follow") == "false" {
			err = here.moveTo(s.requests, s.limits.InFlight, "requests")
		} else {
			account := callerOf(r.Context()).account()
			if !s.following.take(account) {
				s.writeError(w, r, s.noFollower(r.Context()))
				return
			}
			defer s.following.leave(account)
			err = here.moveTo(s.followers, s.limits.Followers, "streams of events")
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// noFollower returns the error for a caller whose account follows as many streams as it may.
func (s *server) noFollower(ctx context.Context) error {
	whose := "the account follows"
	if callerOf(ctx).keyless {
		whose = "requests without a key follow"
	}
	return &refusal{message.Outcome{
		Outcome: message.Refused, Code: fault.CodeRateLimited, RetryAfterSeconds: retryStreamAfter,
		Detail: fmt.Sprintf("%s %d streams of events, and no more are allowed at a time: try again when one has ended",
			whose, s.following.most),
	}}
}

// noShare returns the error for a caller whose account has as many streams as it may have.
func (s *server) noShare(ctx context.Context) error {
	whose := "the account has"
	if callerOf(ctx).keyless {
		whose = "requests without a key have"
	}
	streams := "1 stream"
	if n := s.limits.StreamsPerAccount; n != 1 {
		streams = fmt.Sprintf("%d streams", n)
	}
	return &refusal{message.Outcome{
		Outcome: message.Refused, Code: fault.CodeRateLimited, RetryAfterSeconds: retryStreamAfter,
		Detail: fmt.Sprintf("%s %s under way (batches, previews, refits, exports, erasures and work on campaigns), and no more are"+
			" allowed at a time (streams_per_account): try again when one has ended", whose, streams),
	}}
}

// retryStreamAfter is the Retry-After, in seconds, of a stream that has no share.
const retryStreamAfter = 5

// shares counts the streams of each account. The account "" stands for all callers without
// a key.
type shares struct {
	most int

	mu    sync.Mutex
	taken map[string]int
}

// take takes a share if the account has one left.
func (s *shares) take(account string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[account] >= s.most {
		return false
	}
	if s.taken == nil {
		s.taken = make(map[string]int)
	}
	s.taken[account]++
	return true
}

// leave gives a share back.
func (s *shares) leave(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[account]--; s.taken[account] == 0 {
		delete(s.taken, account)
	}
}

// moveTo gives the place up for one among others, if one is free there.
func (p *place) moveTo(among *semaphore.Weighted, most int, what string) error {
	p.leave()
	p.among, p.most, p.what = among, most, what
	return p.take()
}
