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
	"github.com/sendlimit/sendlimiter/records/notices"
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
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// Parts are the parts that the API works with, see PartsOf.
type Parts struct {
	Submitter   *submit.Submitter
	Campaigns   *campaign.Campaigns // works on all messages of a campaign
	DeadLetters *deadletters.DeadLetters
	Policies    *settings.Policies
	Users       *settings.Users
	Devices     *devices.Store      // of users
	Refitter    *refit.Refitter     // finds scheduled messages that do not fit a policy
	Accounts    *accounts.Accounts  // finds the account of a key
	Charges     *quota.Charges      // raises the alerts that a changed quota causes
	Events      *counters.Events    // have limits, which bound how often an account submits
	Paces       *rate.Paces         // is how fast workers call the push target
	UserData    *userdata.Users     // exports and erases users
	Callbacks   *callbacks.Registry // has the events of accounts, and where they are posted
	Notices     *notices.Outbox     // alerts the contacts of accounts of changed keys
	Audit       *audit.Log          // logs what operators change
	Cursors     *seal.Keeper        // seals the cursors of pages
	Sessions    *session.Sessions   // are those of the dashboard
	Channels    *channels.Store     // has the states of the channels that deliver
	Overview    *overview.Reader    // of the whole system
	// Stats returns the state of the queue and the store. Its errors are answered like errors of
	// the store.
	Stats func(context.Context) (message.Stats, error)
}

// Options configure the API. Parts and Now are required. The zero value of the others suits most
// programs.
type Options struct {
	Parts

	// CheckDevice checks devices that are registered; nil for none.
	CheckDevice device.Check
	// Now is the local clock, for deadlines and for times that a request leaves out. The
	// store's clock decides about messages.
	Now     func() time.Time
	Logger  *slog.Logger   // nil means none
	Tracer  tracing.Tracer // of requests under /v1/; the Submitter has one for messages
	Limits  Limits
	Version string // of the program, for the OpenAPI document and the stats
	// RequireKeys refuses requests without an API key. If false, such requests have all rights: use
	// that only at an address that only the operator can reach. A key in a request is always
	// checked.
	RequireKeys bool
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// BasePath is the path below which callers reach the API; "" for none. Requests come without it.
	// Links begin with it.
	BasePath string
	// Metrics answers GET /metrics for keys with the scope admin. Nil serves no metrics. It does
	// not count towards Limits.InFlight. While the store is away, it accepts a key that was valid
	// within the last hour.
	Metrics http.Handler
	// Probes answer GET requests by path, such as "/healthz", for everybody and without a
	// limit. They are not in the OpenAPI document.
	Probes map[string]http.Handler
	// LoginRefused is called for each request with a wrong key, and for each request that is
	// refused after too many wrong keys. It may be nil.
	LoginRefused func()
	// Before wraps the handler of all requests under /v1/. It answers with WriteProblem,
	// or calls the handler. It may be nil.
	Before func(http.Handler) http.Handler
	// Contacts says which contacts may be set.
	Contacts contact.Rule
	// Stopping is closed when the server is about to stop, which ends streams. Nil means never.
	Stopping <-chan struct{}
}

// server answers the operations.
type server struct {
	Options

	counters *counters.Counters
	logins   logins
	failures failures
	screen   keyScreen
	renewals singleflight.Group // of logins
	// reads count as requests, too. coming are requests whose body is being read. pageReads need no
	// key: an address holds those slots.
	requests, reads, coming, streams, followers, pageReads *slots
	work                                                   *work
	// Expensive requests.
	refits, dryRuns, scans, campaignRuns, campaignCounts, finds, auditReads *slots

	feeds   feeds         // of followed logs
	schemas huma.Registry // of the OpenAPI document
}

// New returns the handler of all requests to the API. The error is a *fault.InvalidError.
func New(o Options) (http.Handler, error) {
	switch {
	case o.Submitter == nil:
		return nil, &fault.InvalidError{Field: "parts", Want: "a value: the API does not work without"}
	case o.Now == nil:
		return nil, &fault.InvalidError{Field: "now", Want: "a value: the API does not work without"}
	}
	var err error
	if o.Limits, err = o.Limits.withDefaults(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LoginRefused == nil {
		o.LoginRefused = func() {}
	}
	counted := o.Submitter.Counters()
	s := &server{
		Options: o, counters: counted, failures: failures{counters: counted}, screen: keyScreen{accounts: o.Accounts, within: o.Limits.Timeout},
		// A refit and work on a campaign use up to half of the store's time each.
		refits: newTurns(1, "a dry run of a policy or a refit is being answered, and one is at a time: try again when it has ended", "dry run or refit under way"),
		campaignRuns: newTurns(2, "two requests work on campaigns, and no more do at a time: try again when one has ended",
			"running request for a campaign"),
		// An export or erasure reads every key of a server.
		scans: newTurns(1, "a user is being exported or erased, and one is at a time: try again when that has ended", "export or erasure under way"),
		// A dry run copies the data of its users in the store.
		dryRuns: newTurns(4, "4 dry runs of batches are under way, and no more are allowed at a time: try again when one has ended",
			"running dry runs of batches"),
		// The others read many records.
		campaignCounts: newTurns(2, "two campaigns are being counted, and no more are at a time: try again when one has ended", "count of a campaign under way"),
		finds:          newTurns(2, "two lists of messages are being read, and no more are at a time: try again in a moment", "list of messages being read"),
		auditReads:     newTurns(2, "two pages of the audit log are being read, and no more are at a time: try again in a moment", "page of the audit log being read"),
		feeds:          feeds{callbacks: o.Callbacks},
		schemas:        newSchemas(),
	}
	s.newSlots()
	answers, err := s.router(o.Version)
	if err != nil {
		return nil, err
	}
	return s.observe(s.recovered(sameOrigin(beforeV1(answers, o.Before)))), nil
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
