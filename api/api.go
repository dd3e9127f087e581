package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
)

// Options configure the API. Submitter, DeadLetters, Stats and Now have to be
// there; the zero value of the rest is what most want.
type Options struct {
	Submitter   *tasks.Submitter
	DeadLetters *tasks.DeadLetters
	// Stats says what is known of the queue and the store. An error is answered
	// as one of the store.
	Stats func(context.Context) (Stats, error)
	// Now is the local clock, for deadlines and where a request leaves a time
	// out. Messages are judged by the store's.
	Now     func() time.Time
	Logger  *slog.Logger // nil means none
	Limits  Limits
	Version string // of the program, as the OpenAPI document and the stats tell it
	// Authenticate stands before all that is under /v1/; nil lets everybody in.
	// It answers whom it does not know by WriteProblem, and lets others through
	// to the handler it was given.
	Authenticate func(http.Handler) http.Handler
	// Stopping is closed when the server is about to end, so that streams end
	// too; nil means never.
	Stopping <-chan struct{}
}

// server answers the operations.
type server struct {
	submitter   *tasks.Submitter
	deadLetters *tasks.DeadLetters
	stats       func(context.Context) (Stats, error)
	now         func() time.Time
	logger      *slog.Logger
	limits      Limits
	stopping    <-chan struct{}

	requests, streams semaphore
	schemas           huma.Registry // of the OpenAPI document
}

// New returns what answers the API's requests. The error is a
// *sendlimit.InvalidError.
func New(o Options) (http.Handler, error) {
	for _, needed := range []struct {
		field   string
		missing bool
	}{
		{"submitter", o.Submitter == nil},
		{"dead_letters", o.DeadLetters == nil},
		{"stats", o.Stats == nil},
		{"now", o.Now == nil},
	} {
		if needed.missing {
			return nil, &sendlimit.InvalidError{Field: needed.field, Want: "a value: the API does not work without"}
		}
	}
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{
		submitter: o.Submitter, deadLetters: o.DeadLetters, stats: o.Stats,
		now: o.Now, logger: o.Logger, limits: limits, stopping: o.Stopping,
		requests: make(semaphore, limits.InFlight), streams: make(semaphore, limits.Streams),
		schemas: newSchemas(),
	}
	answers, err := s.router(o.Version)
	if err != nil {
		return nil, err
	}
	return s.observe(s.recovered(sameOrigin(authenticated(answers, o.Authenticate)))), nil
}

// authenticated puts authenticate before what is under /v1/.
func authenticated(all http.Handler, authenticate func(http.Handler) http.Handler) http.Handler {
	if authenticate == nil {
		return all
	}
	known := authenticate(all)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if underV1(r) {
			known.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}
