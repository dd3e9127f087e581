package config

import (
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// written has every setting as written; empty if it was not given. The tags are the names in
// the environment, after the prefix.
type written struct {
	EmbeddedAddress string        `env:"EMBEDDED_ADDRESS"`
	Prefix          string        `env:"PREFIX"`
	Account         string        `env:"ACCOUNT"`
	Listen          string        `env:"LISTEN"`
	AdminListen     string        `env:"ADMIN_LISTEN"`
	Deliver         string        `env:"DELIVER"`
	Relay           string        `env:"RELAY"`
	Dashboard       string        `env:"DASHBOARD"`
	PushURL         string        `env:"PUSH_URL"`
	PushSecret      string        `env:"PUSH_SECRET"`
	PushSecretFile  string        `env:"PUSH_SECRET_FILE"`
	PushTimeout     string        `env:"PUSH_TIMEOUT"`
	PushHeaders     string        `env:"PUSH_HEADERS"`
	PushProxy       string        `env:"PUSH_PROXY"`
	Policy          writtenPolicy `envPrefix:"POLICY_"`
	Pace            writtenPace   `envPrefix:"PACE_"`

	FCM     writtenFCM     `envPrefix:"FCM_"`
	APNs    writtenAPNs    `envPrefix:"APNS_"`
	WebPush writtenWebPush `envPrefix:"WEBPUSH_"`

	Reach               string `env:"REACH"`
	PlacesPerDay        string `env:"PLACES_PER_DAY"`
	ExpireAfter         string `env:"EXPIRE_AFTER"`
	KeepRecords         string `env:"KEEP_RECORDS"`
	KeepContent         string `env:"KEEP_CONTENT"`
	Horizon             string `env:"HORIZON"`
	MovesPerMinute      string `env:"MOVES_PER_MINUTE"`
	Index               string `env:"INDEX"`
	StoreFullAt         string `env:"STORE_FULL_AT"`
	WaitReplicas        string `env:"WAIT_REPLICAS"`
	WaitReplicasTimeout string `env:"WAIT_REPLICAS_TIMEOUT"`
	Queues              string `env:"QUEUES"`
	Deliveries          string `env:"DELIVERIES"`
	MaxAttempts         string `env:"MAX_ATTEMPTS"`
	OnUncertain         string `env:"ON_UNCERTAIN"`
	Tolerance           string `env:"TOLERANCE"`
	RetryMin            string `env:"RETRY_MIN"`
	RetryMax            string `env:"RETRY_MAX"`
	ShutdownTimeout     string `env:"SHUTDOWN_TIMEOUT"`
	LogLevel            string `env:"LOG_LEVEL"`
	LogFormat           string `env:"LOG_FORMAT"`

	RedisTLS writtenRedisTLS `envPrefix:"REDIS_TLS_"`

	Access writtenAccess // without a prefix of its own
	Email  writtenEmail  // without a prefix of its own

	Callbacks writtenCallbacks // without a prefix of its own

	unprefixed unprefixed
}

type writtenPace struct {
	Rate  string `env:"RATE"`
	Burst string `env:"BURST"`
	Ramp  string `env:"RAMP"`
}

// unprefixed has the settings whose name in the environment has no prefix.
type unprefixed struct {
	RedisURL string `env:"REDIS_URL"`
}

// setting is one row of the table of settings: its name, what it accepts, and where its
// value is stored.
type setting struct {
	key     string  // as in the file, a dot before an inner name
	written *string // in the written of this load
	// standard is the default, as it would be written; empty for none.
	standard string
	// kind and help are shown with the flag; a setting without kind has no flag.
	kind, help string
	// accept stores a value in the Config. Otherwise it returns what is allowed in
	// Want, and in Value the part that is wrong if it is only a part.
	accept func(string) *fault.InvalidError
	// show returns a rejected value as it may be shown; nil means unchanged.
	show func(string) string
	// shared is set if the setting is a flag of every command of enqueue.
	shared bool
	// callers is set if the setting is a flag of such a program only.
	callers bool
	// list is set if the setting can be a list in the file.
	list bool
	// group is the heading of the flag in the help.
	group string
	// words are all values that accept accepts; nil if there are too many.
	words []string

	source string // where the value was given: "--prefix"; empty for nowhere
}

// settings returns the table, in the order of the example file.
func settings(w *written, c *Config) []*setting {
	const day = 24 * time.Hour
	return slices.Concat(grouped(groupStore, slices.Concat([]*setting{
		{
			key: "redis_url", written: &w.unprefixed.RedisURL, kind: "url", shared: true,
			help: "URL of the store: redis://, unix://, redis-sentinel:// or redis-cluster://, with TLS rediss://," +
				" rediss-sentinel:// or rediss-cluster://; without one, the embedded store",
			accept: text(&c.RedisURL), show: RedactRedisURL,
		},
	}, redisTLSSettings(w, c), []*setting{
		{
			key: "embedded_address", written: &w.EmbeddedAddress, standard: EmbeddedAddress, kind: "address", shared: true,
			help:   "address of the embedded store, for programs without a Redis URL",
			accept: embeddedAddress(&c.EmbeddedAddress),
		},
		{
			key: "prefix", written: &w.Prefix, standard: "sl", kind: "name", shared: true,
			help:   "beginning of every key and queue in the store, so that environments can share a store",
			accept: prefix(&c.Prefix),
		},
		{
			key: "account", written: &w.Account, kind: "name", shared: true, callers: true,
			help: "account that is charged for what enqueue submits; enqueue sees and changes only its messages;" +
				" empty for no account",
			accept: account(&c.Account),
		},
	})), grouped(groupAPI, append([]*setting{
		{
			key: "listen", written: &w.Listen, standard: "127.0.0.1:8080", kind: "address",
			help:   "address of the API, and of health and metrics without admin_listen, or off",
			accept: listen(&c.Listen),
		},
		{
			key: "admin_listen", written: &w.AdminListen, kind: "address",
			help: "address of its own for /livez, /healthz, /readyz and /metrics, which need no key there;" +
				" the API's address then serves none of them",
			accept: listen(&c.AdminListen),
		},
	}, accessSettings(w, c)...)), grouped(groupDelivery, []*setting{
		{
			key: "deliver", written: &w.Deliver, standard: "true", kind: "bool",
			help:   "deliver messages; with false the process only serves the API and needs no push target",
			accept: boolean(&c.Deliver),
		},
		{
			key: "relay", written: &w.Relay, kind: "bool",
			help:   "hand messages over to the queue when they are due soon; by default as deliver, and one process on a store has to",
			accept: oneOf(&c.Relay, "true", "false"),
		},
		{
			key: "dashboard", written: &w.Dashboard, standard: "true", kind: "bool",
			help:   "serve the dashboard at /, beside the API; it asks for a login where the API asks for a key",
			accept: boolean(&c.Dashboard),
		},
		{
			key: "push_url", written: &w.PushURL, kind: "url",
			help:   "where deliveries go: an http or https URL, the URL of a service such as ntfy://ntfy.sh/topic, or log: to print one line each on standard output",
			accept: pushURL(&c.PushURL), show: redactPushURL,
		},
		{
			key: "push_secret", written: &w.PushSecret,
			accept: pushSecret(&c.PushSecret), show: hideSecret,
		},
		{
			key: "push_secret_file", written: &w.PushSecretFile, kind: "file",
			help:   "file with the secret that signs deliveries to push_url, which is read again when it changes",
			accept: text(&c.PushSecretFile),
		},
		{
			key: "push_timeout", written: &w.PushTimeout, standard: "10s", kind: "duration",
			help:   "timeout of one delivery, also to a contact's webhook; e-mail has the timeouts of RFC 5321",
			accept: duration(&c.PushTimeout, 100*time.Millisecond, 5*time.Minute),
		},
		{
			key: "push_headers", written: &w.PushHeaders,
			accept: secretText(&c.PushHeaders), show: hideSecret,
		},
		{
			key: "push_proxy", written: &w.PushProxy, kind: "url",
			help:   "proxy to an http or https push_url: the URL of one, or environment to follow HTTPS_PROXY; by default none",
			accept: text(&c.PushProxy), show: redactPushURL,
		},
	}), grouped(groupChannels, channelSettings(w, c)), grouped(groupEmail, emailSettings(w, c)), grouped(groupEvents, callbackSettings(w, c)), grouped(groupPolicy, policySettings(w, c)), grouped(groupDelivery, []*setting{
		{
			key: "pace.rate", written: &w.Pace.Rate, kind: "rate",
			help:   "rate limit of a new store for the deliveries of all workers together, such as 100/second",
			accept: paceRate(c),
		},
		{
			key: "pace.burst", written: &w.Pace.Burst, kind: "number",
			help:   "deliveries that may be sent at once within that rate",
			accept: paceBurst(c),
		},
		{
			key: "pace.ramp", written: &w.Pace.Ramp, standard: "1m", kind: "duration",
			help:   "how long a pace takes from nothing to its full rate, after a time without deliveries; 0s for no ramp",
			accept: duration(&c.Ramp, 0, time.Hour),
		},
	}), grouped(groupSubmits, []*setting{
		{
			key: "reach", written: &w.Reach, standard: "366d", kind: "duration",
			help:   "how far ahead a send time may be",
			accept: duration(&c.Reach, time.Minute, policy.DefaultReach),
		},
		{
			key: "places_per_day", written: &w.PlacesPerDay, standard: "1000", kind: "number",
			help:   "how many messages a user may have in a day of UTC, whatever the rules allow",
			accept: number(&c.PlacesPerDay, 1, policy.MaxPlacesPerDay),
		},
		{
			key: "expire_after", written: &w.ExpireAfter, standard: "24h", kind: "duration",
			help:   "how long after its send time an undelivered message is dropped; a message can say otherwise",
			accept: duration(&c.ExpireAfter, time.Second, 366*day),
		},
		{
			key: "keep_records", written: &w.KeepRecords, standard: "168h", kind: "duration",
			help:   "how long a message's id is remembered after it ended",
			accept: duration(&c.KeepRecords, time.Minute, 366*day),
		},
		{
			key: "keep_content", written: &w.KeepContent, standard: "false", kind: "bool",
			help:   "keep title, body and data of a delivered message as long as its id, to show them",
			accept: boolean(&c.KeepContent),
		},
		{
			key: "horizon", written: &w.Horizon, standard: "2m", kind: "duration",
			help:   "how long before its send time a message is handed over to the queue",
			accept: duration(&c.Horizon, 15*time.Second, day),
		},
		{
			key: "moves_per_minute", written: &w.MovesPerMinute, standard: "10", kind: "number",
			help:   "how often a message can be moved in a minute",
			accept: number(&c.MovesPerMinute, 1, 1000),
		},
		{
			key: "index", written: &w.Index, standard: "true", kind: "bool",
			help:   "keep an index of messages, to find them without their user",
			accept: boolean(&c.Index),
		},
		{
			key: "store_full_at", written: &w.StoreFullAt, standard: "85%", kind: "percentage",
			help:   "percentage of its maxmemory at which the store accepts no more messages",
			accept: percentage(&c.StoreFullAt, 50, 100),
		},
		{
			key: "wait_replicas", written: &w.WaitReplicas, standard: "0", kind: "number",
			help:   "replicas that must have a submit, move or cancel before it is answered",
			accept: number(&c.WaitReplicas, 0, 10),
		},
		{
			key: "wait_replicas_timeout", written: &w.WaitReplicasTimeout, standard: "1s", kind: "duration",
			help:   "how long to wait for these replicas before the answer is an error",
			accept: duration(&c.WaitReplicasTimeout, 10*time.Millisecond, time.Minute),
		},
		{
			key: "queues", written: &w.Queues, standard: "0", kind: "number",
			help:   "queues that the messages are spread over; 0 for one, or as many as a cluster has masters",
			accept: number(&c.Queues, 0, 64),
		},
	}), grouped(groupDelivery, []*setting{
		{
			key: "deliveries", written: &w.Deliveries, standard: "64", kind: "number",
			help:   "maximum number of deliveries at a time",
			accept: number(&c.Deliveries, 1, 512),
		},
		{
			key: "max_attempts", written: &w.MaxAttempts, standard: "8", kind: "number",
			help:   "attempts to deliver a message before it fails, including the first",
			accept: number(&c.MaxAttempts, 1, 100),
		},
		{
			key: "on_uncertain", written: &w.OnUncertain, standard: "resend", kind: "answer",
			help:   "what to do with a message that may or may not have arrived: resend or skip",
			accept: oneOf(&c.OnUncertain, "resend", "skip"), words: []string{"resend", "skip"},
		},
		{
			key: "tolerance", written: &w.Tolerance, standard: "2s", kind: "duration",
			help:   "how late a message may be sent without being judged again",
			accept: duration(&c.Tolerance, 100*time.Millisecond, time.Minute),
		},
		{
			key: "retry_min", written: &w.RetryMin, standard: "5s", kind: "duration",
			help:   "wait before the first retry; doubles with each retry",
			accept: duration(&c.RetryMin, 100*time.Millisecond, day),
		},
		{
			key: "retry_max", written: &w.RetryMax, standard: "15m", kind: "duration",
			help:   "longest wait before a retry",
			accept: duration(&c.RetryMax, 100*time.Millisecond, day),
		},
		{
			key: "shutdown_timeout", written: &w.ShutdownTimeout, standard: "30s", kind: "duration",
			help:   "how long to wait for running deliveries on shutdown; longer than push_timeout",
			accept: duration(&c.ShutdownTimeout, time.Second, time.Hour),
		},
	}), grouped(groupLog, []*setting{
		{
			key: "log_level", written: &w.LogLevel, standard: "info", kind: "level",
			help:   "lowest level that is logged: debug, info, warn or error",
			accept: logLevel(&c.LogLevel), words: []string{"debug", "info", "warn", "error"},
		},
		{
			key: "log_format", written: &w.LogFormat, standard: "auto", kind: "format",
			help:   "log format: text, json, or auto, which is text on a terminal and json elsewhere",
			accept: logFormat(&c.LogFormat), words: []string{"auto", "text", "json"},
		},
	}))
}

// variable returns the setting's name in the environment.
func (s *setting) variable() string {
	if s.key == "redis_url" {
		return "REDIS_URL"
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// flag returns the setting's flag, without the dashes.
func (s *setting) flag() string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(s.key)
}

// give stores a value and its source. An empty value does not replace that of an earlier
// source.
func (s *setting) give(value, source string) {
	if value != "" {
		*s.written, s.source = value, source
	}
}

// parse stores the value, or else the default, in the Config. It returns what is wrong with
// it, or nil.
func (s *setting) parse() *fault.InvalidError {
	value := *s.written
	if value == "" {
		value = s.standard
	}
	if value == "" {
		return nil
	}
	problem := s.accept(value)
	if problem == nil {
		return nil
	}
	problem.Field = s.key
	if problem.Value == "" {
		problem.Value = value
	}
	if s.show != nil {
		problem.Value = s.show(value)
	}
	if s.source != "" {
		return problem.Noting(" (given by " + s.source + ")")
	}
	return problem
}
