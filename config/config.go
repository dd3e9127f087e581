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

// DefaultListen is the default address of the API.
const DefaultListen = "127.0.0.1:8080"

// LogTarget is the PushURL for one log line for each delivery.
const LogTarget = "log:"

// Config has all settings, valid. It hides secrets when it is printed or logged.
type Config struct {
	// API is the URL of the API that runs commands. If it is empty, commands use the store at
	// RedisURL; if that is empty too, the worker at Listen.
	API string
	// APIKey is the key for the API; empty for none. APIKeyFile is a file with the key.
	APIKey     Secret
	APIKeyFile string

	// RedisURL is the URL of the store; empty means the worker's embedded store.
	RedisURL string
	// RedisTLS needs a RedisURL that uses TLS.
	RedisTLS RedisTLS
	// Account is the account that commands charge their submits to; "" means none.
	Account string
	// Prefix begins every key and queue in the store.
	Prefix string

	// Listen is the address of the API; empty means none. See Exposed.
	Listen string
	// AdminListen is a separate address for health and metrics, which need no key there; empty
	// means that the API's address serves them.
	AdminListen string
	// SharedDevices lets several users have one address of a device.
	SharedDevices bool
	// RequireKeys makes the API ask for a key even if it is not Exposed.
	RequireKeys bool
	// TLSCert and TLSKey are the files for the API's TLS; both are empty for plain HTTP.
	TLSCert, TLSKey string
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// BasePath is the path below which a proxy serves the API and the dashboard, such as
	// "/sendlimit"; empty for the whole host.
	BasePath string
	// DrainDelay is how long a stopping worker still serves after it says that it is not ready.
	DrainDelay time.Duration
	// Streams is the maximum number of streams of the API at a time, see api.Limits, and
	// StreamsPerAccount the maximum for one account; zero means a quarter.
	Streams, StreamsPerAccount int
	StreamIdle                 time.Duration // how long a batch may take to send its next line
	// Requests is the maximum number of other requests at a time, see api.Limits.
	// RequestsPerAccount and ReadsPerAccount are the maximums for one account; zero means half of
	// Requests, and half of that.
	Requests, RequestsPerAccount, ReadsPerAccount int
	// EventStreams is the maximum number of event streams at a time, and EventStreamsPerAccount
	// the maximum for one account; zero means the default of api.Limits.
	EventStreams, EventStreamsPerAccount int
	// Seeds are the further policies, tiers and accounts of a new store.
	Seeds Seeds

	// Deliver is false if the worker only serves the API.
	Deliver bool
	// Relay is "true" or "false"; empty means the same as Deliver. See Relays.
	Relay string
	// Dashboard serves the dashboard beside the API.
	Dashboard bool

	// PushURL is LogTarget, an http(s) URL or the URL of a service; empty if not set.
	PushURL string
	// PushSecret signs deliveries; empty means unsigned.
	PushSecret Secret
	// PushSecretFile is a file with PushSecret; it is read again when it changes.
	PushSecretFile string
	PushTimeout    time.Duration // of one attempt
	// PushHeaders are sent with each delivery, one a line.
	PushHeaders Secret
	PushProxy   string // the URL of a proxy, "environment", or empty for none

	FCM     FCM
	APNs    APNs
	WebPush WebPush

	// Pace limits the deliveries of a new store; the zero Pace means no limit.
	Pace rate.Pace
	// Ramp is the time until a pace reaches its full rate.
	Ramp time.Duration

	// EmailURL is LogTarget or the smtp(s) URL of the mail server; empty if not set.
	EmailURL     string
	SMTPPassword Secret // of the user in EmailURL; empty if the URL has it, or has no user
	// SMTPPasswordFile is a file with SMTPPassword; it is read again when it changes.
	SMTPPasswordFile string
	EmailFrom        string // the sender of e-mail
	// EmailTLS is the security of an smtp connection: "mandatory", "opportunistic" or "none";
	// empty means the default for the server's address.
	EmailTLS       string
	EmailTemplates string // a folder of the operator's templates; empty for none
	// AlertSecret signs alerts to https: contacts; empty means unsigned.
	AlertSecret Secret
	// AlertSecretFile is a file with AlertSecret; it is read again when it changes.
	AlertSecretFile string
	// AllowInternalWebhooks allows https: contacts at internal addresses.
	AllowInternalWebhooks bool

	// EventsAllowInternal allows callback URLs that use http or have internal addresses.
	EventsAllowInternal bool
	// EventsKeep is how long an event is kept, EventsMost how many events of an account.
	EventsKeep time.Duration
	EventsMost int
	// EventsGiveUp is how long an event is retried at a callback.
	EventsGiveUp time.Duration
	// EventsRate is the maximum number of requests a second to an account's callback.
	EventsRate int

	// Policy is the policy of a new store.
	Policy policy.Policy
	// PolicyGiven reports whether the policy was configured. If so, the worker warns when the
	// store has a different one.
	PolicyGiven bool

	Reach time.Duration // how far ahead a send time may lie
	// PlacesPerDay is the maximum number of places of a user in a UTC day.
	PlacesPerDay int
	// AccountPlaces is the percentage of them that one account may have if several are active.
	AccountPlaces int
	ExpireAfter   time.Duration // from the send time to the default expiry of a message
	KeepRecords   time.Duration // how long a message's id is remembered after its end
	KeepContent   bool          // keep the content of a delivered message for the same time

	Horizon        time.Duration // how long before its send time a message goes to the queue
	MovesPerMinute int           // the maximum moves of a message in a minute
	Index          bool          // messages can be found without their user

	// StoreFullAt is the percentage of maxmemory from which on no message is accepted.
	StoreFullAt int
	// WaitReplicas is the number of replicas that must have a change before it is confirmed.
	// WaitReplicasTimeout bounds the wait.
	WaitReplicas        int
	WaitReplicasTimeout time.Duration

	// Queues is the number of queues; 0 means one, or the number of masters of a cluster.
	Queues int

	Deliveries  int // the maximum at a time
	MaxAttempts int // of one message, including the first
	// OnUncertain is "resend" or "skip": what to do with a message that may or may not have
	// arrived.
	OnUncertain string
	// Tolerance is how late a message may be sent without a new check of the limits.
	Tolerance time.Duration
	// RetryMin and RetryMax bound the wait between two attempts.
	RetryMin, RetryMax time.Duration
	// AlertRetryMin and AlertRetryMax bound the wait between two attempts to deliver an alert or
	// report. AlertRetryFor is the time from the first failure until it is given up.
	AlertRetryMin, AlertRetryMax, AlertRetryFor time.Duration
	// ShutdownTimeout is how long running deliveries and requests may take to finish. It is
	// longer than PushTimeout.
	ShutdownTimeout time.Duration

	LogLevel  slog.Level
	LogFormat LogFormat

	// UnknownSettings is "reject" or "warn": what to do with a setting that this version does not know,
	// unless it is similar to one that it knows.
	UnknownSettings string
	// Ignored has a sentence about each setting that UnknownSettings let pass.
	Ignored []string
}

// LogFormat is the format of log lines.
type LogFormat string

// The formats.
const (
	LogAuto LogFormat = "auto" // text on a terminal, JSON elsewhere
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// PushTarget returns PushURL. If it is empty, the target is LogTarget, or "" if there are device
// channels.
func (c Config) PushTarget() string {
	if c.PushURL == "" && !c.HasDeviceChannel() {
		return LogTarget
	}
	return c.PushURL
}

// Relays reports whether the worker hands due messages over to the queue.
func (c Config) Relays() bool { return c.Relay == "true" || c.Relay == "" && c.Deliver }

// EmailTarget returns EmailURL, or LogTarget if it is empty and the store is embedded. If the
// result is empty, alerts to e-mail addresses wait.
func (c Config) EmailTarget() string {
	if c.EmailURL == "" && c.RedisURL == "" {
		return LogTarget
	}
	return c.EmailURL
}

// Exposed reports whether other machines can reach the address of the API.
func (c Config) Exposed() bool { return exposed(c.Listen) }

// AdminExposed is Exposed for the address of health and metrics.
func (c Config) AdminExposed() bool { return exposed(c.AdminListen) }

func exposed(address string) bool {
	host, valid := splitAddress(address)
	return valid && !loopback(host)
}

// exposedDrain is the default of DrainDelay if the API is Exposed. Otherwise it is zero.
const exposedDrain = 5 * time.Second

// Load reads the settings from flags that RegisterFlags registered (nil for none), the environment
// as os.Environ returns it, and a file ("" for none), and applies the checks. The error is an
// *Error with every problem.
func Load(flags *pflag.FlagSet, environ []string, file string, checks ...Check) (Config, error) {
	var (
		c        = Config{DrainDelay: -1} // not given
		rejected rejections
	)
	document := policy.Document{Name: policy.DefaultName}
	rows := settings(&c, &document)
	rejected.add(readFile(file, rows, &c, &document)...)
	unread := rejected.has(FileFlag)
	rejected.add(readEnvironment(environ, rows)...)
	readFlags(flags, rows)
	if warnsOfUnknown(rows) {
		rejected, c.Ignored = rejected.ignoring()
	}

	for _, row := range rows {
		rejected.add(row.parse())
		if row.source != "" && strings.HasPrefix(row.key, "policy.") {
			c.PolicyGiven = true
		}
	}
	switch {
	case c.DrainDelay >= 0:
	case c.Exposed():
		c.DrainDelay = exposedDrain
	default:
		c.DrainDelay = 0
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
		// A setting may be missing because the file could not be read, or empty because it was
		// rejected: a second error would mislead.
		if !unread && !rejected.has(problem.Field) {
			rejected.add(problem)
		}
	}
	if len(rejected) > 0 {
		return Config{}, &Error{Rejected: rejected}
	}
	return c, nil
}
