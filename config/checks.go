package config

import (
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Check checks what one program requires of the settings. It returns nil if they meet it.
type Check func(Config) *fault.InvalidError

// NeedsPushTarget is the Check of a program that delivers: if Deliver is set, a store other
// than the embedded one needs a push target or a channel to devices.
func NeedsPushTarget(c Config) *fault.InvalidError {
	if !c.Deliver || c.PushURL != "" || c.RedisURL == "" || c.HasDeviceChannel() {
		return nil
	}
	return fault.Wrong("push_url", "--push-url is required with --redis-url: an http or https URL, or log: to only log messages;"+
		" or a channel to devices: see --fcm-credentials-file, --apns-key-file and --webpush-private-key-file")
}

// HasSomethingToDo is the Check of a program that delivers, relays or serves the API.
func HasSomethingToDo(c Config) *fault.InvalidError {
	if c.Deliver || c.Relays() || c.Listen != "" {
		return nil
	}
	return fault.Wrong("deliver", "deliver is false and listen is off: this worker would do nothing")
}

// ReplicasNeedRedis is the Check of a program that waits for replicas, which the embedded
// store does not have.
func ReplicasNeedRedis(c Config) *fault.InvalidError {
	if c.WaitReplicas == 0 || c.RedisURL != "" {
		return nil
	}
	return fault.Wrong("wait_replicas", "wait_replicas is %d, and the embedded store has no replicas: set redis_url, or wait_replicas to 0", c.WaitReplicas)
}

// BothOfTLS is the Check of a program that serves the API: certificate and key are needed
// together.
func BothOfTLS(c Config) *fault.InvalidError {
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		return fault.Wrong("tls_key", "tls_key is required with tls_cert: the file with its private key")
	case c.TLSCert == "" && c.TLSKey != "":
		return fault.Wrong("tls_cert", "tls_cert is required with tls_key: the file with its certificate")
	}
	return nil
}

// SharesOfAccounts is the Check of a program that serves the API: an account can't have more
// than there is.
func SharesOfAccounts(c Config) *fault.InvalidError {
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

// BothOfRedisTLS is the Check of a program that opens a store: certificate and key are
// needed together.
func BothOfRedisTLS(c Config) *fault.InvalidError {
	switch {
	case c.RedisTLS.Cert != "" && c.RedisTLS.Key == "":
		return fault.Wrong("redis_tls_key", "redis_tls_key is required with redis_tls_cert: the file with its private key")
	case c.RedisTLS.Cert == "" && c.RedisTLS.Key != "":
		return fault.Wrong("redis_tls_cert", "redis_tls_cert is required with redis_tls_key: the file with its certificate")
	}
	return nil
}

// BurstHasRate is the Check of a program that delivers: a burst needs a rate.
func BurstHasRate(c Config) *fault.InvalidError {
	if c.Pace.Burst <= c.Pace.Rate.Count {
		return nil
	}
	if c.Pace.Rate.Count == 0 {
		return fault.Wrong("pace.burst", "pace.burst needs a pace.rate")
	}
	return fault.Wrong("pace.burst", "pace.burst, %d, is more than pace.rate allows, %s", c.Pace.Burst, c.Pace.Rate)
}

// credentialsOnce are the checks that credentials are given in one place.
func credentialsOnce() []Check {
	var checks []Check
	once := func(given func(Config) (Secret, string), text, file string) {
		checks = append(checks, func(c Config) *fault.InvalidError {
			if secret, name := given(c); secret == "" || name == "" {
				return nil
			}
			return fault.Wrong(file, "%s and %s are both given: give one of them", text, file)
		})
	}
	once(func(c Config) (Secret, string) { return c.FCM.Credentials, c.FCM.CredentialsFile }, "fcm.credentials", "fcm.credentials_file")
	once(func(c Config) (Secret, string) { return c.APNs.Key, c.APNs.KeyFile }, "apns.key", "apns.key_file")
	once(func(c Config) (Secret, string) { return c.PushSecret, c.PushSecretFile }, "push_secret", "push_secret_file")
	once(func(c Config) (Secret, string) { return c.SMTPPassword, c.SMTPPasswordFile }, "smtp_password", "smtp_password_file")
	once(func(c Config) (Secret, string) { return c.AlertSecret, c.AlertSecretFile }, "alert_secret", "alert_secret_file")
	once(func(c Config) (Secret, string) { return c.WebPush.PrivateKey, c.WebPush.PrivateKeyFile }, "webpush.private_key", "webpush.private_key_file")
	return checks
}

// crossChecks returns the checks that compare settings with each other.
func crossChecks() []Check {
	return slices.Concat(credentialsOnce(), []Check{
		func(c Config) *fault.InvalidError {
			if c.RetryMin <= c.RetryMax || c.RetryMax == 0 {
				return nil
			}
			return longer("retry_min", c.RetryMin, "retry_max", c.RetryMax)
		},
		func(c Config) *fault.InvalidError {
			if c.AlertRetryMin <= c.AlertRetryMax || c.AlertRetryMax == 0 {
				return nil
			}
			return longer("alert_retry_min", c.AlertRetryMin, "alert_retry_max", c.AlertRetryMax)
		},
		func(c Config) *fault.InvalidError {
			if c.AlertRetryMax <= c.AlertRetryFor || c.AlertRetryFor == 0 {
				return nil
			}
			return longer("alert_retry_max", c.AlertRetryMax, "alert_retry_for", c.AlertRetryFor)
		},
		// A delivery that outlives the shutdown goes back to the queue while
		// its request is under way, and the message goes out twice.
		func(c Config) *fault.InvalidError {
			if c.ShutdownTimeout > c.PushTimeout || c.PushTimeout == 0 {
				return nil
			}
			return fault.Wrong("shutdown_timeout", "shutdown_timeout, %s, has to be longer than push_timeout, %s",
				FormatDuration(c.ShutdownTimeout), FormatDuration(c.PushTimeout))
		},
	})
}

// longer returns the error for a duration that is longer than another one may make it.
func longer(field string, value time.Duration, than string, most time.Duration) *fault.InvalidError {
	return fault.Wrong(field, "%s, %s, is longer than %s, %s", field, FormatDuration(value), than, FormatDuration(most))
}
