package config

import (
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// DefaultListen is the Listen of settings without one.
const DefaultListen = "127.0.0.1:8080"

// LogTarget is the PushURL that writes a line for each delivery.
const LogTarget = "log:"

// Config has every setting. All are valid. It hides secrets when it is printed or logged.
type Config struct {
	// API is the URL of the API that answers commands; empty means that they work on the store, or
	// that the worker at Listen answers them if RedisURL is empty, too.
	API string
	// APIKey is the key for the API; empty for none. APIKeyFile is a file with it instead.
	APIKey     Secret
	APIKeyFile string

	// RedisURL is the URL of the store; empty means the embedded store of a worker.
	RedisURL string
	// RedisTLS is for a RedisURL that uses TLS.
	RedisTLS RedisTLS
	// Account is the account that commands charge their submits to; "" means none.
	Account string
	// Prefix begins every key and queue in the store.
	Prefix string

	// Listen is the address of the API; empty means none. See Exposed.
	Listen string
	// AdminListen is the address of health and metrics alone, which need no key there; empty
	// means that the API's address has them.
	AdminListen string
	// RequireKeys makes the API ask for a key even if it is not Exposed.
	RequireKeys bool
	// TLSCert and TLSKey are the files for the API's TLS; both are empty for plain
	// HTTP.
	TLSCert, TLSKey string
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Streams is how many streams the API runs at a time, see api.Limits, and
	// StreamsPerAccount how many of one account; zero means a quarter.
	Streams, StreamsPerAccount int
	StreamIdle                 time.Duration // how long a batch may take to send its next line
	// Requests is how many requests the API answers at a time besides streams, see
	// api.Limits. RequestsPerAccount and ReadsPerAccount are how many of one account; zero
	// means half of Requests, and half of that.
	Requests, RequestsPerAccount, ReadsPerAccount int
	// EventStreams is how many streams of events there may be at a time, and
	// EventStreamsPerAccount how many of one account; zero means the default of api.Limits.
	EventStreams, EventStreamsPerAccount int
	// Seeds are the further policies, tiers and accounts of a new store.
	Seeds Seeds

	// Deliver makes the worker deliver messages; otherwise it only serves the API.
	Deliver bool
	// Relay is "true" or "false"; empty means as Deliver. See Relays.
	Relay string
	// Dashboard serves the dashboard beside the API.
	Dashboard bool

	// PushURL is LogTarget, an http(s) URL or the URL of a service; empty if none was given.
	PushURL string
	// PushSecret signs deliveries; empty means unsigned.
	PushSecret Secret
	// PushSecretFile is a file with PushSecret instead, which is read again when it changes.
	PushSecretFile string
	PushTimeout    time.Duration // bounds one try
	// PushHeaders are sent with each delivery: a line for each.
	PushHeaders Secret
	PushProxy   string // the URL of a proxy, "environment", or empty for none

	FCM     FCM
	APNs    APNs
	WebPush WebPush

	// Pace limits the deliveries of a store that has no pace yet; the zero Pace means
	// no limit.
	Pace rate.Pace
	// Ramp is how long a pace takes from nothing to its full rate.
	Ramp time.Duration

	// EmailURL is LogTarget or the smtp(s) URL of the mail server; empty if none was
	// given.
	EmailURL     string
	SMTPPassword Secret // of the user in EmailURL; empty where that has it, or no user
	// SMTPPasswordFile is a file with SMTPPassword instead, which is read again when it changes.
	SMTPPasswordFile string
	EmailFrom        string // the sender of e-mail
	// EmailTLS says how an smtp connection is secured: "mandatory",
	// "opportunistic" or "none"; empty means the default for the server's address.
	EmailTLS       string
	EmailTemplates string // the folder of templates of one's own; empty for none
	// AlertSecret signs notices to https: contacts; empty means unsigned.
	AlertSecret Secret
	// AlertSecretFile is a file with AlertSecret instead, which is read again when it changes.
	AlertSecretFile string
	// AllowInternalWebhooks allows such contacts at internal addresses.
	AllowInternalWebhooks bool

	// EventsAllowInternal allows callback URLs that are http or at internal addresses.
	EventsAllowInternal bool
	// EventsKeep is how long an event of a message is kept, EventsMost how many of an account.
	EventsKeep time.Duration
	EventsMost int
	// EventsGiveUp is how long an event is tried at a callback.
	EventsGiveUp time.Duration
	// EventsRate is the most requests a second to the callback of an account.
	EventsRate int

	// Policy is the policy of a new store.
	Policy policy.Policy
	// PolicyGiven reports whether the policy was configured. Only then does the worker
	// warn if the store has another one.
	PolicyGiven bool

	Reach time.Duration // how far ahead a send time may lie
	// PlacesPerDay is how many places a user may have in a day of UTC.
	PlacesPerDay int
	// AccountPlaces is how many percent of them one account may have where several are active.
	AccountPlaces int
	ExpireAfter   time.Duration // from the send time to the expiry of a message that names none
	KeepRecords   time.Duration // how long a message's id is remembered after its end
	KeepContent   bool          // whether the content of a delivered message is kept as long

	Horizon        time.Duration // how long before its send time a message goes to the queue
	MovesPerMinute int           // how often a message can be moved in a minute
	Index          bool          // whether messages can be found without their user

	// StoreFullAt is the percentage of maxmemory at which the store accepts no more
	// messages.
	StoreFullAt int
	// WaitReplicas is how many replicas must have a change before it is answered;
	// WaitReplicasTimeout is how long to wait for them.
	WaitReplicas        int
	WaitReplicasTimeout time.Duration

	// Queues is how many queues the messages are spread over; 0 means one, or as many as a
	// cluster has masters.
	Queues int

	Deliveries  int // that run at the same time
	MaxAttempts int // of one message, the first included
	// OnUncertain says what to do with a message that may or may not have been
	// delivered: "resend" or "skip".
	OnUncertain string
	// Tolerance is how late a message may be sent without being judged again.
	Tolerance time.Duration
	// RetryMin and RetryMax bound the wait between two attempts.
	RetryMin, RetryMax time.Duration
	// AlertRetryMin and AlertRetryMax bound the wait between two attempts to deliver an
	// alert or report. AlertRetryFor is how long they go on after the first failure.
	AlertRetryMin, AlertRetryMax, AlertRetryFor time.Duration
	// ShutdownTimeout is how long running deliveries and requests may take to finish;
	// it is longer than PushTimeout.
	ShutdownTimeout time.Duration

	LogLevel  slog.Level
	LogFormat LogFormat
}

// LogFormat is the format of log lines.
type LogFormat string

// The formats.
const (
	LogAuto LogFormat = "auto" // text on a terminal, JSON elsewhere
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// PushTarget returns PushURL. If that is empty it is LogTarget, or "" for none if there are
// channels to devices.
func (c Config) PushTarget() string {
	if c.PushURL == "" && !c.HasDeviceChannel() {
		return LogTarget
	}
	return c.PushURL
}

// Relays reports whether the worker hands messages over to the queue when they are due soon.
func (c Config) Relays() bool { return c.Relay == "true" || c.Relay == "" && c.Deliver }

// EmailTarget returns EmailURL, or LogTarget if that is empty and the store is the embedded
// one. It is empty if notices to e-mail addresses have to wait.
func (c Config) EmailTarget() string {
	if c.EmailURL == "" && c.RedisURL == "" {
		return LogTarget
	}
	return c.EmailURL
}

// Exposed reports whether other machines may reach the address of the API.
func (c Config) Exposed() bool { return exposed(c.Listen) }

// AdminExposed is Exposed for the address of the probes and the metrics.
func (c Config) AdminExposed() bool { return exposed(c.AdminListen) }

func exposed(address string) bool {
	host, valid := splitAddress(address)
	return valid && !loopback(host)
}

// Load returns the settings from flags that RegisterFlags registered (nil for none), the
// environment as os.Environ returns it, and a file ("" for none). It then applies the
// checks. The error is an *Error with everything that is wrong.
func Load(flags *pflag.FlagSet, environ []string, file string, checks ...Check) (Config, error) {
	var (
		c        Config
		rejected rejections
	)
	document := policy.Document{Name: policy.DefaultName}
	rows := settings(&c, &document)
	rejected.add(readFile(file, rows, &c, &document)...)
	unread := rejected.has(FileFlag)
	rejected.add(readEnvironment(environ, rows)...)
	readFlags(flags, rows)

	for _, row := range rows {
		rejected.add(row.parse())
		if row.source != "" && strings.HasPrefix(row.key, "policy.") {
			c.PolicyGiven = true
		}
	}
	var err error
	c.Policy, err = document.Policy()
	problems := invalids(err)
	for _, problem := range problems {
		problem.Field = "policy." + problem.Field
	}
	problems = append(problems, crossProblems(c)...)
	for _, check := range checks {
		problems = append(problems, invalids(check(c))...)
	}
	for _, problem := range problems {
		// What an unread file would have said is not known to be missing, and a rejected
		// setting is empty now: a check of it would mislead.
		if !unread && !rejected.has(problem.Field) {
			rejected.add(problem)
		}
	}
	if len(rejected) > 0 {
		return Config{}, &Error{Rejected: rejected}
	}
	return c, nil
}
