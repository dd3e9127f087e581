package config

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
)

// hidden is shown in place of a secret.
const hidden = "***"

// Secret is a text that is hidden when it is printed, logged or encoded; string(s) is the
// text itself.
type Secret string

// String returns a placeholder; "" for an empty secret.
func (s Secret) String() string { return hideSecret(string(s)) }

// Format prints String, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText returns String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

func hideSecret(s string) string {
	if s == "" {
		return ""
	}
	return hidden
}

// RedactRedisURL returns the URL of a store without password and options, so that it can be
// shown. The URL need not be valid.
func RedactRedisURL(s string) string {
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "", s
	} else {
		scheme += "://"
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		// With one of these before the last @, the @ may belong to an option or to
		// a password that is not percent-encoded.
		if strings.ContainsAny(rest[:at], "/?#") {
			return scheme + hidden
		}
		// Without a colon it is a user, or a password in the wrong place.
		name, _, both := strings.Cut(rest[:at], ":")
		user = hidden + "@"
		if both {
			user = name + ":" + user
		}
		rest = rest[at+1:]
	}
	rest, _, options := strings.Cut(rest, "?")
	if options {
		rest += "?" + hidden
	}
	return scheme + user + rest
}

func redactPushURL(s string) string {
	if s == "" || s == LogTarget {
		return s
	}
	return notifier.RedactURL(s)
}

// LogValue returns the settings without secrets.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("redis_url", RedactRedisURL(c.RedisURL)),
		slog.String("redis_tls_ca", c.RedisTLS.CA),
		slog.String("redis_tls_cert", c.RedisTLS.Cert),
		slog.String("redis_tls_server_name", c.RedisTLS.ServerName),
		slog.String("embedded_address", c.EmbeddedAddress),
		slog.String("prefix", c.Prefix),
		slog.String("listen", c.Listen),
		slog.String("admin_listen", c.AdminListen),
		slog.Bool("require_keys", c.RequireKeys),
		slog.String("tls_cert", c.TLSCert),
		slog.Any("trusted_proxies", c.TrustedProxies),
		slog.String("push_url", redactPushURL(c.PushURL)),
		slog.Bool("push_signed", c.PushSecret != "" || c.PushSecretFile != ""),
		slog.Duration("push_timeout", c.PushTimeout),
		slog.Bool("push_headers", c.PushHeaders != ""),
		slog.String("push_proxy", redactPushURL(c.PushProxy)),
		slog.Bool("dashboard", c.Dashboard),
		slog.Bool("fcm", c.FCM.Set()),
		slog.String("fcm_endpoint", redactURL(c.FCM.Endpoint)),
		slog.Bool("apns", c.APNs.Set()),
		slog.String("apns_topic", c.APNs.Topic),
		slog.Bool("apns_sandbox", c.APNs.Sandbox),
		slog.String("apns_endpoint", redactURL(c.APNs.Endpoint)),
		slog.Bool("webpush", c.WebPush.Set()),
		slog.Bool("webpush_allow_internal", c.WebPush.AllowInternal),
		slog.String("pace", c.Pace.String()),
		slog.Duration("pace_ramp", c.Ramp),
		slog.String("email_url", redactURL(c.EmailURL)),
		slog.String("email_tls", c.EmailTLS),
		slog.String("email_templates", c.EmailTemplates),
		slog.Bool("alerts_signed", c.AlertSecret != "" || c.AlertSecretFile != ""),
		slog.Bool("allow_internal_webhooks", c.AllowInternalWebhooks),
		slog.Duration("events_keep", c.EventsKeep),
		slog.Int("events_most", c.EventsMost),
		slog.Bool("events_allow_internal", c.EventsAllowInternal),
		slog.Duration("events_give_up", c.EventsGiveUp),
		slog.Int("events_rate", c.EventsRate),
		slog.String("policy", c.Policy.String()),
		slog.Duration("reach", c.Reach),
		slog.Int("places_per_day", c.PlacesPerDay),
		slog.Int("account_places_percent", c.AccountPlaces),
		slog.Duration("expire_after", c.ExpireAfter),
		slog.Duration("keep_records", c.KeepRecords),
		slog.Bool("keep_content", c.KeepContent),
		slog.Duration("horizon", c.Horizon),
		slog.Int("moves_per_minute", c.MovesPerMinute),
		slog.Bool("index", c.Index),
		slog.Int("store_full_at_percent", c.StoreFullAt),
		slog.Int("wait_replicas", c.WaitReplicas),
		slog.Duration("wait_replicas_timeout", c.WaitReplicasTimeout),
		slog.Int("queues", c.Queues),
		slog.Int("deliveries", c.Deliveries),
		slog.Int("max_attempts", c.MaxAttempts),
		slog.String("on_uncertain", c.OnUncertain),
		slog.Duration("tolerance", c.Tolerance),
		slog.Duration("retry_min", c.RetryMin),
		slog.Duration("retry_max", c.RetryMax),
		slog.Duration("alert_retry_min", c.AlertRetryMin),
		slog.Duration("alert_retry_max", c.AlertRetryMax),
		slog.Duration("alert_retry_for", c.AlertRetryFor),
		slog.Duration("shutdown_timeout", c.ShutdownTimeout),
		slog.String("log_level", c.LogLevel.String()),
		slog.String("log_format", string(c.LogFormat)),
	)
}

// Format prints the settings without secrets, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.LogValue().String()) }
