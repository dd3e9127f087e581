// Package config reads the settings of the two programs: from a flag, else
// from the environment, else from a YAML file, else the default. It validates
// them once and reports everything that is wrong at the same time.
//
// A setting has one name in three spellings: push_timeout in the file,
// SENDLIMIT_PUSH_TIMEOUT in the environment, --push-timeout on the command
// line. REDIS_URL is the one variable without the prefix, and secrets
// (push_secret, smtp_password, alert_secret) have no flag, because every user of a
// machine can read its command lines. A
// setting inside another joins the names: policy.rules is
// SENDLIMIT_POLICY_RULES and --policy-rules. An empty value is no value.
package config

import (
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// EmbeddedAddress is where the embedded store is unless a setting says
// otherwise: on loopback, and not on the port of a Redis that may be there
// already.
const EmbeddedAddress = "127.0.0.1:6390"

// LogTarget is the PushURL that writes a line for each delivery.
const LogTarget = "log:"

// Config is every setting, valid. It shows no secret however it is printed or
// logged.
type Config struct {
	// RedisURL is where the store is; empty means the embedded one.
	RedisURL string
	// EmbeddedAddress is the loopback address of the embedded store, where
	// RedisURL is empty. Port 0 is any free one.
	EmbeddedAddress string
	// Account is who is charged for what enqueue submits; "" for nobody.
	Account string
	// Prefix begins every key and queue in the store.
	Prefix string

	// Listen is the address of the API, /healthz, /readyz and /metrics; empty means
	// none. See Exposed.
	Listen string
	// RequireKeys says whether the API asks for a key where it is not Exposed.
	RequireKeys bool
	// TLSCert and TLSKey are the files that the API's TLS is made of; both are
	// empty for plain HTTP.
	TLSCert, TLSKey string
	// TrustedProxies are those whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Seeds are the further policies, the tiers and the accounts that the store
	// starts with.
	Seeds Seeds

	// Deliver says whether messages are delivered; a worker that does not serves
	// the API alone.
	Deliver bool

	// PushURL is LogTarget or an http(s) URL; empty where none was given.
	PushURL string
	// PushSecret signs what is pushed; empty means unsigned.
	PushSecret  Secret
	PushTimeout time.Duration // bounds one try

	// Pace is how fast deliveries may come in a store that has no pace yet; the
	// zero Pace means as fast as they can.
	Pace rate.Pace

	// EmailURL is LogTarget or the smtp(s) URL of the server that takes e-mail;
	// empty where none was given.
	EmailURL     string
	SMTPPassword Secret // of the user in EmailURL; empty where that has it, or no user
	EmailFrom    string // the sender of e-mail
	// EmailTLS says how an smtp connection is secured: "mandatory",
	// "opportunistic", "none", or empty for what the server's address calls for.
	EmailTLS       string
	EmailTemplates string // the folder of templates of one's own; empty for none
	// AlertSecret signs notices to https: contacts; empty means unsigned.
	AlertSecret Secret
	// AllowInternalWebhooks lets such a contact be at an internal address.
	AllowInternalWebhooks bool

	// Policy is what the store starts with when it has none.
	Policy policy.Policy
	// PolicyGiven says that the policy was written somewhere, rather than
	// being the default: only then is another one in the store a surprise.
	PolicyGiven bool

	Reach       time.Duration // how far ahead a send time may lie
	ExpireAfter time.Duration // from the send time to the expiry of a message that names none
	KeepRecords time.Duration // how long a message's id is remembered after its end

	// StoreFullAt is how much of its maxmemory the store may use before nothing
	// more is accepted, in percent.
	StoreFullAt int
	// WaitReplicas is how many replicas of the store must have what was asked
	// for before it is answered, and WaitReplicasTimeout how long to wait for
	// them.
	WaitReplicas        int
	WaitReplicasTimeout time.Duration

	Deliveries  int // that run at the same time
	MaxAttempts int // of one message, the first included
	// OnUncertain is what becomes of a message of which nobody knows whether the
	// provider has it: "resend" or "skip".
	OnUncertain string
	// Tolerance is how late a message may go out before the rules are judged
	// anew at the real time.
	Tolerance time.Duration
	// RetryMin and RetryMax bound the wait between two attempts.
	RetryMin, RetryMax time.Duration
	// ShutdownTimeout bounds how long running deliveries and requests may take to
	// finish; it is longer than PushTimeout.
	ShutdownTimeout time.Duration

	LogLevel  slog.Level
	LogFormat LogFormat
}

// LogFormat is how log lines look.
type LogFormat string

// The log formats.
const (
	LogAuto LogFormat = "auto" // text on a terminal, JSON elsewhere
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Check judges settings by what one program needs of them. It returns nil
// where they will do.
type Check func(Config) *fault.InvalidError

// StoreURL is RedisURL, or the URL of the embedded store where none was given.
func (c Config) StoreURL() string {
	if c.RedisURL == "" {
		return "redis://" + c.EmbeddedAddress
	}
	return c.RedisURL
}

// PushTarget is PushURL, or LogTarget where none was given, which
// NeedsPushTarget allows on the embedded store only.
func (c Config) PushTarget() string {
	if c.PushURL == "" {
		return LogTarget
	}
	return c.PushURL
}

// NeedsPushTarget is the Check of a program that delivers, where Deliver does
// not say otherwise: unless the store is the embedded one, which holds nothing
// worth keeping, it has to be told where to.
func NeedsPushTarget(c Config) *fault.InvalidError {
	if !c.Deliver || c.PushURL != "" || c.RedisURL == "" {
		return nil
	}
	return &fault.InvalidError{
		Field: "push_url",
		Want:  "log: or an http or https URL, given by --push-url or SENDLIMIT_PUSH_URL, once a Redis URL is set",
	}
}

// HasSomethingToDo is the Check of a program that delivers, serves the API, or
// both.
func HasSomethingToDo(c Config) *fault.InvalidError {
	if c.Deliver || c.Listen != "" {
		return nil
	}
	return &fault.InvalidError{
		Field: "deliver", Value: "false", Want: "true where listen is off: this worker would do nothing",
	}
}

// ReplicasNeedRedis is the Check of a program that waits for replicas: the
// embedded store has none.
func ReplicasNeedRedis(c Config) *fault.InvalidError {
	if c.WaitReplicas == 0 || c.RedisURL != "" {
		return nil
	}
	return &fault.InvalidError{
		Field: "wait_replicas", Value: strconv.Itoa(c.WaitReplicas),
		Want: "0 on the embedded store, which has no replicas",
	}
}

// Load returns the settings of the flags that RegisterFlags registered (nil
// for none), the environment (as os.Environ gives it) and the file ("" for
// none). The checks judge the result together with everything else.
//
// The error is an *Error with everything that is wrong.
func Load(flags *pflag.FlagSet, environ []string, file string, checks ...Check) (Config, error) {
	var (
		w        written
		c        Config
		rejected rejections
	)
	rows := settings(&w, &c)
	c.Policy.Name = policy.DefaultName
	rejected.add(readFile(file, rows, &c)...)
	unread := rejected.has(FileFlag)
	rejected.add(readEnvironment(environ, &w, rows)...)
	readFlags(flags, rows)

	for _, row := range rows {
		rejected.add(row.parse())
		if row.source != "" && strings.HasPrefix(row.key, "policy.") {
			c.PolicyGiven = true
		}
	}
	for _, check := range append(crossChecks(), checks...) {
		if unread {
			break // what it would have said is not known to be missing
		}
		// A setting that was rejected is empty by now: what a check says of
		// it would mislead.
		if problem := check(c); problem != nil && !rejected.has(problem.Field) {
			rejected.add(problem)
		}
	}
	if len(rejected) > 0 {
		return Config{}, &Error{Rejected: rejected}
	}
	return c, nil
}
