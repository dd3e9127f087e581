package accounts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// storedAccount is a stored account.
type storedAccount struct {
	Tier     string `json:"tier,omitempty"`
	Contact  string `json:"contact,omitempty"`
	TimeZone string `json:"time_zone,omitempty"`
	// FormerZone counts until ZoneFrom, Unix ms.
	FormerZone string      `json:"former_zone,omitempty"`
	ZoneFrom   int64       `json:"zone_from,omitempty"`
	ReportAt   string      `json:"report_at,omitempty"`
	Disabled   bool        `json:"disabled,omitempty"`
	CreatedAt  int64       `json:"created_at"` // Unix ms
	Keys       []storedKey `json:"keys,omitempty"`
	// Events is the callback; nil for none.
	Events *storedEvents `json:"events,omitempty"`
}

// storedKey is a stored API key.
type storedKey struct {
	ID        string  `json:"id"`
	SHA256    string  `json:"sha256"` // of the whole key, hex
	Scopes    []Scope `json:"scopes"`
	CreatedAt int64   `json:"created_at"`           // Unix ms
	ExpiresAt int64   `json:"expires_at,omitempty"` // Unix ms
}

func decodeAccount(name, text, doing string) (storedAccount, error) {
	var stored storedAccount
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return storedAccount{}, fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
			Detail: fmt.Sprintf("account %q in the store can't be read: run the newer program that wrote it", name),
			Err:    err,
		})
	}
	return stored, nil
}

// describe copies the fields that Create and Set write. Disabled, CreatedAt and the keys stay.
func (s *storedAccount) describe(a Account) {
	s.Tier, s.Contact, s.TimeZone, s.ReportAt = a.Tier, a.Contact, a.TimeZone, a.ReportAt
	s.FormerZone, s.ZoneFrom = a.FormerZone, 0
	if !a.ZoneFrom.IsZero() {
		s.ZoneFrom = a.ZoneFrom.UnixMilli()
	}
}

// public returns the account without secrets.
func (s *storedAccount) public(name string) Account {
	a := Account{
		Name: name, Tier: s.Tier, Contact: s.Contact, TimeZone: s.TimeZone, ReportAt: s.ReportAt,
		Disabled: s.Disabled, CreatedAt: time.UnixMilli(s.CreatedAt).UTC(),
	}
	if s.ZoneFrom != 0 {
		a.FormerZone, a.ZoneFrom = s.FormerZone, time.UnixMilli(s.ZoneFrom).UTC()
	}
	for _, key := range s.Keys {
		a.Keys = append(a.Keys, key.public())
	}
	if s.Events != nil {
		a.EventsURL = s.Events.URL
	}
	return a
}

func (k storedKey) public() APIKey {
	key := APIKey{ID: k.ID, Scopes: slices.Clone(k.Scopes), CreatedAt: time.UnixMilli(k.CreatedAt).UTC()}
	if k.ExpiresAt != 0 {
		key.ExpiresAt = time.UnixMilli(k.ExpiresAt).UTC()
	}
	return key
}

func (k storedKey) expired(now time.Time) bool {
	return k.ExpiresAt != 0 && k.ExpiresAt <= now.UnixMilli()
}

// forgetExpired removes expired keys, and an expired former secret of the callback.
func (s *storedAccount) forgetExpired(now time.Time) {
	if e := s.Events; e != nil && e.Former != "" && e.FormerUntil <= now.UnixMilli() {
		s.Events = &storedEvents{URL: e.URL, Secret: e.Secret}
	}
	s.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(k storedKey) bool { return k.expired(now) })
}

// hashesBeside lists the hashes of the keys that another state of the account does not have, each
// followed by a space.
func (s *storedAccount) hashesBeside(other storedAccount) string {
	var list strings.Builder
	for _, key := range s.Keys {
		if !slices.ContainsFunc(other.Keys, func(k storedKey) bool { return k.SHA256 == key.SHA256 }) {
			list.WriteString(key.SHA256 + " ")
		}
	}
	return list.String()
}
