package config

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// hidden replaces a secret.
const hidden = "***"

// Secret is a text that is hidden when it is printed, logged or encoded; string(s) returns the
// text.
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

// RedactRedisURL removes password and options from the URL of a store. The URL may be invalid.
func RedactRedisURL(s string) string {
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "", s
	} else {
		scheme += "://"
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		// With one of these before the last @, the @ may belong to an option or to an unescaped
		// password.
		if strings.ContainsAny(rest[:at], "/?#") {
			return scheme + hidden
		}
		// Without a colon it is a user, or a misplaced password.
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

// LogValue returns the settings without secrets, and the policy as one text.
func (c Config) LogValue() slog.Value {
	values := []slog.Attr{slog.String("policy", c.Policy.String())}
	for _, row := range settings(&c, &policy.Document{}) {
		if row.group != groupPolicy {
			values = append(values, slog.Any(strings.ReplaceAll(row.key, ".", "_"), row.log()))
		}
	}
	return slog.GroupValue(values...)
}

// Format prints the settings without secrets, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.LogValue().String()) }
