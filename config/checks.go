package config

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Check checks the settings that one program requires. Its error has a *fault.InvalidError for each
// wrong setting.
type Check func(Config) error

// NeedsPushTarget is the Check of a worker: a worker that delivers from a store other than the
// embedded one needs a push target or a device channel.
func NeedsPushTarget(c Config) error {
	if !c.Deliver || c.PushURL != "" || c.RedisURL == "" || c.HasDeviceChannel() {
		return nil
	}
	return fault.Wrong("push_url", "--push-url is required with --redis-url: an http or https URL, or log: to only log messages;"+
		" or a channel to devices: see --fcm-credentials-file, --apns-key-file and --webpush-private-key-file")
}

// HasSomethingToDo is the Check of a worker: it must deliver, relay or serve the API. An embedded
// store needs the API, because nothing else reaches it.
func HasSomethingToDo(c Config) error {
	if c.RedisURL == "" && c.Listen == "" {
		return fault.Wrong("listen", "listen is off, and only the API of this worker could reach its embedded store: set listen, or redis_url")
	}
	if c.Deliver || c.Relays() || c.Listen != "" {
		return nil
	}
	return fault.Wrong("deliver", "deliver is false and listen is off: this worker would do nothing")
}

// ReplicasNeedRedis is the Check of a program that waits for replicas. The embedded store has none.
func ReplicasNeedRedis(c Config) error {
	if c.WaitReplicas == 0 || c.RedisURL != "" {
		return nil
	}
	return fault.Wrong("wait_replicas", "wait_replicas is %d, and the embedded store has no replicas: set redis_url, or wait_replicas to 0", c.WaitReplicas)
}

// BothOfTLS is the Check of a program that serves the API: the certificate needs its key.
func BothOfTLS(c Config) error {
	return both("tls_cert", c.TLSCert, "tls_key", c.TLSKey)
}

// BothOfRedisTLS is the Check of a program that opens a store: the certificate needs its key.
func BothOfRedisTLS(c Config) error {
	return both("redis_tls_cert", c.RedisTLS.Cert, "redis_tls_key", c.RedisTLS.Key)
}

// both rejects a certificate without its key, and a key without its certificate.
func both(cert, certFile, key, keyFile string) error {
	switch {
	case certFile != "" && keyFile == "":
		return fault.Wrong(key, "%s is required with %s: the file with its private key", key, cert)
	case certFile == "" && keyFile != "":
		return fault.Wrong(cert, "%s is required with %s: the file with its certificate", cert, key)
	}
	return nil
}

// SharesOfAccounts is the Check of a program that serves the API: the share of an account may not
// be larger than the whole.
func SharesOfAccounts(c Config) error {
	for _, s := range []struct {
		key   string
		share int
		of    string
		all   int
	}{
		{"streams_per_account", c.StreamsPerAccount, "streams", c.Streams},
		{"requests_per_account", c.RequestsPerAccount, "requests", c.Requests},
		{"reads_per_account", c.ReadsPerAccount, "requests", c.Requests},
		{"event_streams_per_account", c.EventStreamsPerAccount, "event_streams", c.EventStreams},
	} {
		if s.share > s.all && s.all > 0 {
			return fault.Wrong(s.key, "%s, %d, is more than %s, %d", s.key, s.share, s.of, s.all)
		}
	}
	return nil
}

// BurstHasRate is the Check of a worker that delivers: a burst needs a rate, and may not exceed it.
func BurstHasRate(c Config) error {
	if c.Pace.Burst <= c.Pace.Rate.Count {
		return nil
	}
	if c.Pace.Rate.Count == 0 {
		return fault.Wrong("pace.burst", "pace.burst needs a pace.rate")
	}
	return fault.Wrong("pace.burst", "pace.burst, %d, is more than pace.rate allows, %s", c.Pace.Burst, c.Pace.Rate)
}

// crossProblems returns every pair of settings that contradict each other. A rejected setting is
// zero, and contradicts nothing.
func crossProblems(c Config) []*fault.InvalidError {
	var problems []*fault.InvalidError
	for _, s := range []struct {
		key        string
		text, file string
	}{
		{"api_key", string(c.APIKey), c.APIKeyFile},
		{"fcm.credentials", string(c.FCM.Credentials), c.FCM.CredentialsFile},
		{"apns.key", string(c.APNs.Key), c.APNs.KeyFile},
		{"push_secret", string(c.PushSecret), c.PushSecretFile},
		{"smtp_password", string(c.SMTPPassword), c.SMTPPasswordFile},
		{"alert_secret", string(c.AlertSecret), c.AlertSecretFile},
		{"webpush.private_key", string(c.WebPush.PrivateKey), c.WebPush.PrivateKeyFile},
	} {
		if s.text != "" && s.file != "" {
			problems = append(problems, fault.Wrong(s.key+"_file", "%s and %s_file are both given: give one of them", s.key, s.key))
		}
	}
	for _, s := range []struct {
		key   string
		value time.Duration
		than  string
		most  time.Duration
	}{
		{"retry_min", c.RetryMin, "retry_max", c.RetryMax},
		{"alert_retry_min", c.AlertRetryMin, "alert_retry_max", c.AlertRetryMax},
		{"alert_retry_max", c.AlertRetryMax, "alert_retry_for", c.AlertRetryFor},
	} {
		if s.value > s.most && s.most != 0 {
			problems = append(problems, fault.Wrong(s.key, "%s, %s, is longer than %s, %s",
				s.key, calendar.FormatDuration(s.value), s.than, calendar.FormatDuration(s.most)))
		}
	}
	// A delivery that is still running when the shutdown ends goes back to the queue, and the
	// message is sent twice.
	if c.ShutdownTimeout <= c.PushTimeout && c.PushTimeout != 0 {
		problems = append(problems, fault.Wrong("shutdown_timeout", "shutdown_timeout, %s, has to be longer than push_timeout, %s",
			calendar.FormatDuration(c.ShutdownTimeout), calendar.FormatDuration(c.PushTimeout)))
	}
	return problems
}
