package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Options configure the API. Submitter, DeadLetters, Policies, Refitter, Users,
// Accounts, Counters, Stats and Now have to be there; the zero value of the rest is
// what most want.
type Options struct {
	Submitter   *submit.Submitter
	DeadLetters *deadletters.Letters
	// Policies say who may get what and when, Users what is set for single users,
	// and Refitter finds what is scheduled and does not fit a policy.
	Policies *settings.Policies
	Users    *settings.Users
	Refitter *refit.Refitter
	// Accounts say whom a key stands for, and Counters how often it may submit.
	Accounts *accounts.Accounts
	Counters *counters.Counters
	// Stats says what is known of the queue and the store. An error is answered
	// as one of the store.
	Stats func(context.Context) (message.Stats, error)
	// Now is the local clock, for deadlines and where a request leaves a time
	// out. Messages are judged by the store's.
	Now     func() time.Time
	Logger  *slog.Logger // nil means none
	Limits  Limits
	Version string // of the program, as the OpenAPI document and the stats tell it
	// RequireKeys refuses requests without an API key. Without it they are the
	// operator's, which is for addresses that nobody else reaches; a key that is
	// sent is checked all the same.
	RequireKeys bool
	// TrustedProxies are those whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Metrics answers GET /metrics for who has the scope read; nil is no such
	// page. It is asked however many requests are being answered, and a key that
	// was valid an hour ago at most is believed while the store is away.
	Metrics http.Handler
	// LoginRefused is called for each request whose key is wrong, or is not
	// looked at since too many were; nil means nothing.
	LoginRefused func()
	// Before stands before all that is under /v1/; nil is nothing. It answers by
	// WriteProblem, or lets a request through to the handler it was given.
	Before func(http.Handler) http.Handler
	// Stopping is closed when the server is about to end, so that streams end
	// too; nil means never.
	Stopping <-chan struct{}
}

// server answers the operations.
type server struct {
	submitter      *submit.Submitter
	deadLetters    *deadletters.Letters
	policies       *settings.Policies
	users          *settings.Users
	refitter       *refit.Refitter
	accounts       *accounts.Accounts
	counters       *counters.Counters
	stats          func(context.Context) (message.Stats, error)
	metrics        http.Handler // nil for none
	now            func() time.Time
	logger         *slog.Logger
	limits         Limits
	requireKeys    bool
	trustedProxies []netip.Prefix
	loginRefused   func()
	stopping       <-chan struct{}

	logins            logins
	failures          failures
	requests, streams semaphore
	refits            semaphore
	schemas           huma.Registry // of the OpenAPI document
}

// New returns what answers the API's requests. The error is a
// *sendlimit.InvalidError.
func New(o Options) (http.Handler, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LoginRefused == nil {
		o.LoginRefused = func() {}
	}
	s := &server{
		submitter: o.Submitter, deadLetters: o.DeadLetters, policies: o.Policies, users: o.Users, refitter: o.Refitter,
		accounts: o.Accounts, counters: o.Counters, stats: o.Stats, metrics: o.Metrics,
		now: o.Now, logger: o.Logger, limits: limits, stopping: o.Stopping,
		requireKeys: o.RequireKeys, trustedProxies: o.TrustedProxies, loginRefused: o.LoginRefused,
		failures: failures{counters: o.Counters},
		requests: make(semaphore, limits.InFlight), streams: make(semaphore, limits.Streams), refits: make(semaphore, mostRefits),
		schemas: newSchemas(),
	}
	answers, err := s.router(o.Version)
	if err != nil {
		return nil, err
	}
	return s.observe(s.recovered(sameOrigin(beforeV1(answers, o.Before)))), nil
}

// check says what is missing.
func (o Options) check() error {
	for _, needed := range []struct {
		field   string
		missing bool
	}{
		{"submitter", o.Submitter == nil},
		{"dead_letters", o.DeadLetters == nil},
		{"policies", o.Policies == nil},
		{"users", o.Users == nil},
		{"refitter", o.Refitter == nil},
		{"accounts", o.Accounts == nil},
		{"counters", o.Counters == nil},
		{"stats", o.Stats == nil},
		{"now", o.Now == nil},
	} {
		if needed.missing {
			return &fault.InvalidError{Field: needed.field, Want: "a value: the API does not work without"}
		}
	}
	return nil
}

// beforeV1 puts a handler before what is under /v1/.
func beforeV1(all http.Handler, before func(http.Handler) http.Handler) http.Handler {
	if before == nil {
		return all
	}
	first := before(all)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if underV1(r) {
			first.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// underV1 reports whether a request is for an operation, rather than for a page about
// operations.
func underV1(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, v1) }

const v1 = "/v1/"
