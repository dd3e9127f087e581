package api

import (
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// slotted returns a handler that gives a request its slot before next runs. The caller is known by
// then, so requests without a valid key take no slot.
func (s *server) slotted(next http.Handler, rt route) http.Handler {
	reads := rt.Method == http.MethodGet && !rt.streams
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		among := s.requests
		switch {
		case rt.follows && r.URL.Query().Get("follow") != "false": // a page of events is a request
			among = s.followers
		case rt.streams && !rt.follows:
			among = s.streams
		}
		of := callerOf(r.Context()).holder()
		here := &exchangeOf(r.Context()).slot
		if err := here.take(among, of); err != nil {
			s.writeError(w, r, err)
			return
		}
		defer here.leave()
		if reads {
			if err := s.reads.take(of); err != nil {
				s.writeError(w, r, err)
				return
			}
			defer s.reads.leave(of)
		}
		if among == s.requests {
			done, err := s.work.begin(r.Context(), of)
			if err != nil {
				s.writeError(w, r, err)
				return
			}
			defer done()
		}
		next.ServeHTTP(w, r)
	})
}

const (
	// retryStreamAfter is the Retry-After, in seconds, of a stream above its share.
	retryStreamAfter = 5
	// retryRequestAfter is that of other requests, which take less time.
	retryRequestAfter = 1
)

func (s *server) newSlots() {
	l := s.Limits
	s.requests = &slots{
		most: l.InFlight, perAccount: l.InFlightPerAccount, perOperator: l.InFlight, reserve: reserveOf(l.InFlight),
		full:  allHeld(l.InFlight, "requests"),
		share: shareHeld("request", "requests", " under way", "requests_per_account", retryRequestAfter),
	}
	s.reads = &slots{
		most: l.InFlight + reserveOf(l.InFlight), perAccount: l.ReadsPerAccount, perOperator: l.InFlight + reserveOf(l.InFlight),
		full:  allHeld(l.InFlight, "requests"),
		share: shareHeld("read", "reads", " under way", "reads_per_account", retryRequestAfter),
	}
	s.coming = &slots{
		most: bodiesPerPlace * l.InFlight, perAccount: l.InFlight, perOperator: bodiesPerPlace * l.InFlight, reserve: reserveOf(l.InFlight),
		full:  allHeld(bodiesPerPlace*l.InFlight, "requests whose body has not come yet"),
		share: shareHeld("request", "requests", " whose body has not come yet", "", retryRequestAfter),
	}
	s.streams = &slots{
		most: l.Streams, perAccount: l.StreamsPerAccount, perOperator: l.StreamsPerAccount, reserve: reserveOf(l.Streams),
		full: allHeld(l.Streams, "batches"),
		share: shareHeld("stream", "streams",
			" running (batches, dry runs, refits, exports, erasures and work on campaigns)", "streams_per_account", retryStreamAfter),
	}
	s.work = newWork(s.Now)
	s.followers = &slots{
		most: l.Followers, perAccount: l.FollowersPerAccount, perOperator: l.FollowersPerAccount, reserve: reserveOf(l.Followers),
		full:  allHeld(l.Followers, "streams of events"),
		share: shareHeld("stream of events", "streams of events", " under way", "event_streams_per_account", retryStreamAfter),
	}
	s.pageReads = &slots{
		most: l.InFlight, perAccount: max(l.InFlight/2, 1), perOperator: l.InFlight, reserve: 0,
		full: allHeld(l.InFlight, "requests for pages"),
		share: func(_ holder, held int) error {
			return tryLater(fmt.Sprintf("%d requests of this address for pages are being answered, and no more are at a time:"+
				" try again in a moment", held), retryRequestAfter)
		},
	}
}

// bodiesPerPlace is how many bodies may arrive at a time for each slot: they need little memory,
// and slow clients send many.
const bodiesPerPlace = 4

// allHeld returns the error if all slots are held.
func allHeld(most int, what string) func() error {
	return func() error {
		return &fault.UnavailableError{
			Detail: fmt.Sprintf("%d %s are being answered, and no more are at a time: try again in a moment", most, what),
		}
	}
}

// shareHeld returns the error of a holder with its maximum of slots, in the words for one and for
// several. setting is the option that bounds them; "" for none.
func shareHeld(one, several, how, setting string, seconds int64) func(holder, int) error {
	if setting != "" {
		setting = " (" + setting + ")"
	}
	return func(of holder, held int) error {
		what := several
		if held == 1 {
			what = one
		}
		return tryLater(of.has(held)+what+how+", and no more are allowed at a time"+setting+": try again when one has ended", seconds)
	}
}

// has begins a sentence about the slots of a holder.
func (h holder) has(held int) string {
	if h.account == "" {
		return fmt.Sprintf("requests without a key have %d ", held)
	}
	return fmt.Sprintf("the account has %d ", held)
}
