package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/singleflight"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/records/seal"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/device"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// Options configure the API. Submitter, Campaigns, DeadLetters, Policies, Refitter, Users, Devices, Accounts,
// Counters, Events, Paces, UserData, Callbacks, Audit, Cursors, Sessions, Channels, Stats and Now are required. The zero value of the others suits most programs.
type Options struct {
	Submitter   *submit.Submitter
	Campaigns   *campaign.Campaigns // works on all messages of a campaign
	DeadLetters *deadletters.DeadLetters
	// Policies and Users are the stored policies and users' settings. Refitter finds
	// scheduled messages that do not fit a policy.
	Policies *settings.Policies
	Users    *settings.Users
	Devices  *devices.Store // of users
	// CheckDevice checks devices that are registered; nil for none.
	CheckDevice device.Check
	Refitter    *refit.Refitter
	// Accounts finds the account of a key. Charges raises the alerts that a changed quota
	// causes.
	Accounts *accounts.Accounts
	Charges  *quota.Charges
	// Events are the limits of events, which bound how often an account submits. Paces is how fast
	// workers call the push target.
	Events *counters.Events
	Paces  *rate.Paces
	// UserData exports and erases users.
	UserData *userdata.Users
	// Callbacks are the events of accounts, and where they are posted.
	Callbacks *callbacks.Registry
	// Audit logs what operators change.
	Audit *audit.Log
	// Cursors seals the cursors of pages.
	Cursors *seal.Keeper
	// Sessions are those of the dashboard.
	Sessions *session.Sessions
	// Channels are the states of the channels that deliver.
	Channels *channels.Store
	// Stats returns the state of the queue and the store. An error is answered like an
	// error of the store.
	Stats func(context.Context) (message.Stats, error)
	// Now is the local clock, for deadlines and for times that a request leaves out. The
	// store's clock decides about messages.
	Now     func() time.Time
	Logger  *slog.Logger   // nil means none
	Tracer  tracing.Tracer // of requests under /v1/; the Submitter has one for messages
	Limits  Limits
	Version string // of the program, for the OpenAPI document and the stats
	// RequireKeys refuses requests without an API key. If it is false, such requests have
	// all rights, which is for addresses that only the operator reaches. A key that is
	// sent is checked in any case.
	RequireKeys bool
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Metrics answers GET /metrics for keys with the scope admin. Nil serves no metrics. It
	// does not count towards Limits.InFlight. While the store is away it accepts a key
	// that was valid within the last hour.
	Metrics http.Handler
	// Probes answer GET requests by path, such as "/healthz", for everybody and without a
	// limit. They are not in the OpenAPI document.
	Probes map[string]http.Handler
	// LoginRefused is called for each request with a wrong key, and for each that is
	// refused after too many of them. It may be nil.
	LoginRefused func()
	// Before wraps the handler of all requests under /v1/. It answers with WriteProblem,
	// or calls the handler. It may be nil.
	Before func(http.Handler) http.Handler
	// Contacts says which contacts may be set.
	Contacts contact.Rule
	// Stopping is closed when the server is about to end, which ends streams. Nil means
	// never.
	Stopping <-chan struct{}
}

// server answers the operations.
type server struct {
	submitter      *submit.Submitter
	campaigns      *campaign.Campaigns
	deadLetters    *deadletters.DeadLetters
	policies       *settings.Policies
	users          *settings.Users
	devices        *devices.Store
	checkDevice    device.Check
	refitter       *refit.Refitter
	accounts       *accounts.Accounts
	charges        *quota.Charges
	counters       *counters.Counters
	callbacks      *callbacks.Registry
	audit          *audit.Log
	cursors        *seal.Keeper
	sessions       *session.Sessions
	channels       *channels.Store
	events         *counters.Events
	paces          *rate.Paces
	userData       *userdata.Users
	stats          func(context.Context) (message.Stats, error)
	metrics        http.Handler // nil for none
	probes         map[string]http.Handler
	now            func() time.Time
	logger         *slog.Logger
	tracer         tracing.Tracer
	limits         Limits
	requireKeys    bool
	trustedProxies []netip.Prefix
	loginRefused   func()
	contacts       contact.Rule
	stopping       <-chan struct{}

	logins   logins
	failures failures
	screen   keyScreen
	renewals singleflight.Group // of logins
	// reads are among the requests, coming are those whose body is being read, and pageReads
	// need no key: an address holds those.
	requests, reads, coming, streams, followers, pageReads *slots
	// Of kinds of requests that are expensive.
	refits, rehearsals, scans, campaignRuns, campaignCounts, finds, auditReads *slots

	feeds   feeds         // of those who follow events
	schemas huma.Registry // of the OpenAPI document
}

// New returns the handler of all requests to the API. The error is a *fault.InvalidError.
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
	counted, err := o.Submitter.Counters()
	if err != nil {
		return nil, err
	}
	s := &server{
		submitter: o.Submitter, campaigns: o.Campaigns, deadLetters: o.DeadLetters, policies: o.Policies, users: o.Users, devices: o.Devices, checkDevice: o.CheckDevice, refitter: o.Refitter,
		accounts: o.Accounts, charges: o.Charges, counters: counted, callbacks: o.Callbacks, audit: o.Audit, cursors: o.Cursors, sessions: o.Sessions, channels: o.Channels, events: o.Events, paces: o.Paces, userData: o.UserData, stats: o.Stats, metrics: o.Metrics, probes: o.Probes,
		now: o.Now, logger: o.Logger, tracer: o.Tracer, limits: limits, stopping: o.Stopping, contacts: o.Contacts,
		requireKeys: o.RequireKeys, trustedProxies: o.TrustedProxies, loginRefused: o.LoginRefused,
		failures: failures{counters: counted},
		screen:   keyScreen{accounts: o.Accounts, within: limits.Timeout},
		refits:   newRefitTurns(), rehearsals: newRehearsalTurns(), scans: newScanTurns(),
		campaignRuns: newCampaignTurns(), campaignCounts: newCountTurns(), finds: newFindTurns(),
		auditReads: newTurns(2, "two pages of the audit log are being read, and no more are at a time: try again in a moment", "page of the audit log being read"),
		feeds:      feeds{callbacks: o.Callbacks},
		schemas:    newSchemas(),
	}
	s.newSlots()
	answers, err := s.router(o.Version)
	if err != nil {
		return nil, err
	}
	return s.observe(s.recovered(sameOrigin(beforeV1(answers, o.Before)))), nil
}

// check returns an error about the first option that is missing.
func (o Options) check() error {
	for _, needed := range []struct {
		field   string
		missing bool
	}{
		{"submitter", o.Submitter == nil},
		{"campaigns", o.Campaigns == nil},
		{"dead_letters", o.DeadLetters == nil},
		{"policies", o.Policies == nil},
		{"users", o.Users == nil},
		{"devices", o.Devices == nil},
		{"refitter", o.Refitter == nil},
		{"accounts", o.Accounts == nil},
		{"charges", o.Charges == nil},
		{"callbacks", o.Callbacks == nil},
		{"audit", o.Audit == nil},
		{"cursors", o.Cursors == nil},
		{"sessions", o.Sessions == nil},
		{"channels", o.Channels == nil},
		{"events", o.Events == nil},
		{"paces", o.Paces == nil},
		{"user_data", o.UserData == nil},
		{"stats", o.Stats == nil},
		{"now", o.Now == nil},
	} {
		if needed.missing {
			return &fault.InvalidError{Field: needed.field, Want: "a value: the API does not work without"}
		}
	}
	return nil
}

// beforeV1 wraps the handler of requests under /v1/.
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
