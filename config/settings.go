package config

import "slices"

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
	AccountPlaces       string `env:"ACCOUNT_PLACES"`
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

// unprefixed has the settings whose name in the environment has no prefix.
type unprefixed struct {
	RedisURL string `env:"REDIS_URL"`
}

// settings returns the table, in the order of the example file.
func settings(w *written, c *Config) []*setting {
	return slices.Concat(
		grouped(groupStore, storeSettings(w, c)),
		grouped(groupAPI, slices.Concat(addressSettings(w, c), accessSettings(w, c))),
		grouped(groupDelivery, pushSettings(w, c)),
		grouped(groupChannels, channelSettings(w, c)),
		grouped(groupEmail, emailSettings(w, c)),
		grouped(groupEvents, callbackSettings(w, c)),
		grouped(groupPolicy, policySettings(w, c)),
		grouped(groupDelivery, paceSettings(w, c)),
		grouped(groupSubmits, submitSettings(w, c)),
		grouped(groupDelivery, deliverySettings(w, c)),
		grouped(groupLog, logSettings(w, c)),
	)
}
