package client

import (
	"fmt"
	"log/slog"
)

// Key is an API key. Printing, logging or encoding it shows a placeholder; string(k) is the key
// itself.
type Key string

// String returns a placeholder; "" for an empty key.
func (k Key) String() string {
	if k == "" {
		return ""
	}
	return "***"
}

// Format prints String for every verb.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, k.String()) }

// MarshalText returns String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue returns String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// sendable reports whether the key can be sent in a header.
func (k Key) sendable() bool {
	for _, c := range []byte(k) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
