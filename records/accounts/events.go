package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MaxEventsURL is the maximum length of a callback URL, in bytes.
const MaxEventsURL = 2048

// The secrets of Standard Webhooks: "whsec_" and 24 to 64 bytes in base64.
const (
	secretPrefix   = "whsec_"
	shortestSecret = 24
	longestSecret  = 64
	newSecretBytes = 32
)

// Callback has the callback URL of an account, and the secrets that sign its events.
type Callback struct {
	URL string
	// Secrets are the current secret and, during the overlap of a rotation, the former one. Each
	// signs.
	Secrets []string
}

// ValidEventsURL checks a callback URL: http or https with a host, without user, password and
// fragment. The error is an *InvalidError, which shows only the host.
func ValidEventsURL(text string) error {
	invalid := &fault.InvalidError{
		Field: "events_url", Value: redactURL(text),
		Want: "an https URL with a host, without user, password and fragment, such as https://example.com/events",
	}
	visible := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if len(text) > MaxEventsURL || !visible || strings.Contains(text, "#") {
		return invalid
	}
	target, err := url.Parse(text)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" || target.User != nil {
		return invalid
	}
	if port := target.Port(); port != "" || strings.HasSuffix(target.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return invalid
		}
	}
	return nil
}

// redactURL returns scheme and host of a URL, since the rest may be secret.
func redactURL(text string) string {
	target, err := url.Parse(text)
	if err != nil || target.Host == "" {
		return "(not shown)"
	}
	return target.Scheme + "://" + target.Host + "/…"
}

// ValidEventsSecret checks a signing secret of callbacks. The error is an *InvalidError, which does
// not show it.
func ValidEventsSecret(secret string) error {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < shortestSecret || len(key) > longestSecret {
		return &fault.InvalidError{Field: "secret", Value: "(not shown)", Want: "whsec_ followed by 24 to 64 bytes in base64"}
	}
	return nil
}

func newEventsSecret() string {
	var key [newSecretBytes]byte
	_, _ = rand.Read(key[:]) // never fails, and ends the program if the system has no randomness
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// storedEvents is a stored callback. The secrets are readable, because they sign.
type storedEvents struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
	// Former also signs until FormerUntil, Unix ms.
	Former      string `json:"former,omitempty"`
	FormerUntil int64  `json:"former_until,omitempty"`
}

// SetEvents sets the callback URL of an account. A secret replaces the current one; "" keeps it, or
// generates one if there is none. made is the generated secret, or "". The error is a *NoSuchError
// or an *InvalidError.
func (a *Accounts) SetEvents(ctx context.Context, name, target, secret string) (_ Account, made string, err error) {
	var wrong fault.InvalidErrors
	wrong.Add(ValidEventsURL(target))
	if secret != "" {
		wrong.Add(ValidEventsSecret(secret))
	}
	if err := wrong.Err(); err != nil {
		return Account{}, "", err
	}
	fresh := newEventsSecret()
	account, err := a.changeExisting(ctx, name, "setting a callback URL", func(_ time.Time, next *storedAccount) error {
		var events storedEvents
		if next.Events != nil {
			events = *next.Events
		}
		events.URL, made = target, ""
		switch {
		case secret != "" && secret != events.Secret:
			events.Secret, events.Former, events.FormerUntil = secret, "", 0
		case events.Secret == "":
			events.Secret, made = fresh, fresh
		}
		next.Events = &events
		return nil
	})
	if err != nil {
		return Account{}, "", err
	}
	return account, made, nil
}

// RemoveEvents removes the callback URL of an account and its secrets, if there is one. The error
// is a *NoSuchError.
func (a *Accounts) RemoveEvents(ctx context.Context, name string) (Account, error) {
	return a.changeExisting(ctx, name, "removing a callback URL", func(_ time.Time, next *storedAccount) error {
		next.Events = nil
		return nil
	})
}

// RotateEventsSecret gives the callback of an account a new secret, and returns it. The former
// secret also signs for the overlap, so that the receiver can change over. The error is a
// *NoSuchError if there is no account or no callback.
func (a *Accounts) RotateEventsSecret(ctx context.Context, name string, overlap time.Duration) (string, error) {
	if err := checkOverlap(overlap, overlap.String()); err != nil {
		return "", err
	}
	fresh := newEventsSecret()
	_, err := a.changeExisting(ctx, name, "rotating the secret of a callback", func(now time.Time, next *storedAccount) error {
		if next.Events == nil {
			return NoCallback(name)
		}
		events := storedEvents{URL: next.Events.URL, Secret: fresh}
		if overlap > 0 {
			events.Former, events.FormerUntil = next.Events.Secret, now.Add(overlap).UnixMilli()
		}
		next.Events = &events
		return nil
	})
	if err != nil {
		return "", err
	}
	return fresh, nil
}

// NoCallback returns the error for an account without a callback URL.
func NoCallback(account string) error {
	return &fault.NoSuchError{What: "callback of account", Name: account}
}

// WithCallback returns the names of the accounts with a callback.
func (a *Accounts) WithCallback(ctx context.Context) ([]string, error) {
	names, err := a.client.SMembers(ctx, a.keys.Callbacks()).Result()
	if err != nil {
		return nil, store.Explain(err, "listing the accounts with a callback")
	}
	return names, nil
}

// Callback returns the callback of an account; ok is false if it has none, or does not exist.
func (a *Accounts) Callback(ctx context.Context, name string) (_ Callback, ok bool, err error) {
	found, err := a.find(ctx, name, "", "reading a callback")
	if err != nil || found.name == "" || found.account.Events == nil {
		return Callback{}, false, err
	}
	events := found.account.Events
	callback := Callback{URL: events.URL, Secrets: []string{events.Secret}}
	if events.Former != "" && events.FormerUntil > found.now.UnixMilli() {
		callback.Secrets = append(callback.Secrets, events.Former)
	}
	return callback, true, nil
}
