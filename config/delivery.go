package config

import "time"

// deliverySettings returns the rows of the table about deliveries, their retries and the shutdown.
func deliverySettings(w *written, c *Config) []*setting {
	return []*setting{
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
	}
}
