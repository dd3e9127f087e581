package find

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Filter selects messages: those that match all fields. The zero value selects all messages with a
// record.
type Filter struct {
	Account    string    // the charged one; "" for all
	ID         string    // of any user; "" for all
	Campaign   string    // "" for all
	Category   string    // "" for all
	Status     string    // one of messages.Statuses; "" for all
	From       time.Time // first send time; zero for all
	Until      time.Time // end of the send times, exclusive; zero for all
	User       string    // "" for all
	UserPrefix string    // the beginning of the user; only without a User
}

// Check returns an *InvalidError for a filter that nothing can match.
func (f Filter) Check() error {
	switch {
	case f.Account != "" && !keyspace.ValidName(f.Account): // accounts are named as policies are
		return &fault.InvalidError{Field: "account", Value: f.Account, Want: keyspace.WantName}
	case f.Status != "" && !slices.Contains(messages.Statuses(), f.Status):
		return &fault.InvalidError{Field: "status", Value: f.Status, Want: "one of " + strings.Join(messages.Statuses(), ", ")}
	case !f.From.IsZero() && !f.Until.IsZero() && !f.Until.After(f.From):
		return &fault.InvalidError{Field: "until", Value: f.Until.Format(time.RFC3339), Says: "until must be after from"}
	case f.User != "" && f.UserPrefix != "":
		return &fault.InvalidError{Field: "user_prefix", Value: f.UserPrefix, Says: "user and user_prefix exclude each other"}
	}
	if f.ID != "" {
		if err := keyspace.CheckID(f.ID); err != nil {
			return err
		}
	}
	if err := keyspace.CheckCampaign(f.Campaign); err != nil {
		return err
	}
	if err := keyspace.CheckCategory(f.Category); err != nil {
		return err
	}
	if f.User != "" {
		return keyspace.CheckUser(f.User)
	}
	if f.UserPrefix != "" {
		return keyspace.CheckUserPrefix(f.UserPrefix)
	}
	return nil
}

// mayWant reports whether the message of an entry may match.
func (f Filter) mayWant(e entry) bool {
	return e.user != "" && !e.twice && (f.User == "" || e.user == f.User) && strings.HasPrefix(e.user, f.UserPrefix) && (f.ID == "" || e.id == f.ID)
}

// wants reports whether the message of an entry that mayWant matches.
func (f Filter) wants(s messages.Info) bool {
	return s.State != messages.StateUnknown &&
		(f.Account == "" || s.Account == f.Account) &&
		(f.Campaign == "" || s.Campaign == f.Campaign) &&
		(f.Category == "" || s.Category == f.Category) &&
		(f.Status == "" || s.Status() == f.Status) &&
		(f.From.IsZero() || !s.SendAt.Before(f.From)) &&
		(f.Until.IsZero() || s.SendAt.Before(f.Until))
}

// fingerprint distinguishes filters.
func (f Filter) fingerprint() int64 {
	return keyspace.IDScore(fmt.Sprintf("%q %q %q %q %q %d %d %q %q", f.Account, f.ID, f.Campaign, f.Category, f.Status,
		f.From.UnixMilli(), f.Until.UnixMilli(), f.User, f.UserPrefix))
}
