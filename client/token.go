package client

import (
	"fmt"
	"log/slog"
)

// Token is a bearer token. It is not shown when it is printed, logged or
// encoded; string(t) is the token itself.
type Token string

// String returns a placeholder; empty for an empty token.
func (t Token) String() string {
	if t == "" {
		return ""
	}
	return "***"
}

// Format prints String, whatever the verb.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.String()) }

// MarshalText is String.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue is String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// sendable reports whether the token can stand in a header as it is.
func (t Token) sendable() bool {
	for _, c := range []byte(t) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
