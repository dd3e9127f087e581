package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const tierNameWant = keyspace.WantName

// MaxTierLimit is the maximum of a limit of a Tier.
const MaxTierLimit = 1_000_000_000

// Tier has the limits of its accounts, and is stored as its JSON. A limit of 0 means no limit.
type Tier struct {
	Name string `json:"-"` // 1 to 64 of a-z 0-9 _ -
	// RequestsPerMinute limits requests to the API in each natural minute, in three separate
	// counters: those that submit, those that read, and all others.
	RequestsPerMinute int64 `json:"requests_per_minute,omitempty"`
	// RequestsPerDay is the same for each natural day, in UTC or the time zone of the event that a
	// request counts as.
	RequestsPerDay int64 `json:"requests_per_day,omitempty"`
	// LinesPerMinute limits the lines of batches of an account in a minute: a bucket of as many
	// lines fills evenly, and a batch waits for it.
	LinesPerMinute int64 `json:"lines_per_minute,omitempty"`
	// MessagesPerHour and MessagesPerDay limit accepted messages in the natural hour and day of
	// their send times, in the account's zone.
	MessagesPerHour int64 `json:"messages_per_hour,omitempty"`
	MessagesPerDay  int64 `json:"messages_per_day,omitempty"`
	// Devices limits the devices of all users that an account has at a time. An account with more
	// keeps them when its tier is lowered.
	Devices int64 `json:"devices,omitempty"`
	// AlertAt lists percents of MessagesPerDay at which the account's contact is alerted, 1 to 100,
	// ascending. Nil means 80 and 100, empty means never.
	AlertAt []int `json:"alert_at,omitzero"`
}

// Validate checks each field. The error is an *InvalidError, or InvalidErrors for several fields.
func (t Tier) Validate() error {
	var wrong fault.InvalidErrors
	if !keyspace.ValidName(t.Name) {
		wrong.Add(&fault.InvalidError{Field: "tier", Value: t.Name, Want: tierNameWant})
	}
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"requests_per_minute", t.RequestsPerMinute},
		{"requests_per_day", t.RequestsPerDay},
		{"lines_per_minute", t.LinesPerMinute},
		{"messages_per_hour", t.MessagesPerHour},
		{"messages_per_day", t.MessagesPerDay},
		{"devices", t.Devices},
	} {
		if limit.value < 0 || limit.value > MaxTierLimit {
			wrong.Add(&fault.InvalidError{
				Field: limit.field, Value: strconv.FormatInt(limit.value, 10),
				Want: fmt.Sprintf("0, which is no limit, to %d", MaxTierLimit),
			})
		}
	}
	for i, percent := range t.AlertAt {
		if percent < 1 || percent > 100 || i > 0 && percent <= t.AlertAt[i-1] {
			wrong.Add(&fault.InvalidError{
				Field: "alert_at", Value: strings.Trim(fmt.Sprint(t.AlertAt), "[]"),
				Want: "percents of 1 to 100, ascending, such as 80 and 100",
			})
			break
		}
	}
	return wrong.Err()
}

func decodeTier(name, text, doing string) (Tier, error) {
	t := Tier{Name: name}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return Tier{}, fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
			Detail: fmt.Sprintf("tier %q in the store can't be read: set it again, or run the newer program that wrote it", name),
			Err:    err,
		})
	}
	return t, nil
}

func encodeTier(t Tier) ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encoding a tier: %w", err)
	}
	return text, nil
}

// SetTier creates or replaces a tier. It takes effect for all its accounts immediately; existing
// charges stay. The error is an *InvalidError or an *UnavailableError.
func (a *Accounts) SetTier(ctx context.Context, t Tier) error {
	text, err := encodeTier(t)
	if err != nil {
		return err
	}
	if err := a.client.HSet(ctx, a.keys.Tiers(), t.Name, text).Err(); err != nil {
		return store.Explain(err, "storing a tier")
	}
	return nil
}

// GetTier returns a tier; ok is false if it does not exist.
func (a *Accounts) GetTier(ctx context.Context, name string) (_ Tier, ok bool, err error) {
	const doing = "reading a tier"
	text, err := a.client.HGet(ctx, a.keys.Tiers(), name).Result()
	if errors.Is(err, redis.Nil) {
		return Tier{}, false, nil
	}
	if err != nil {
		return Tier{}, false, store.Explain(err, doing)
	}
	t, err := decodeTier(name, text, doing)
	return t, err == nil, err
}

// ListTiers returns all tiers by name.
func (a *Accounts) ListTiers(ctx context.Context) ([]Tier, error) {
	const doing = "listing tiers"
	all, err := a.client.HGetAll(ctx, a.keys.Tiers()).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	list := make([]Tier, 0, len(all))
	for name, text := range all {
		t, err := decodeTier(name, text, doing)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(x, y Tier) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}

// PageTiers is Page for tiers.
func (a *Accounts) PageTiers(ctx context.Context, after string, limit int) (list []Tier, next string, err error) {
	const doing = "listing tiers"
	list = []Tier{}
	next, err = a.readPage(ctx, a.keys.Tiers(), doing, after, limit, func(name, text string) error {
		t, err := decodeTier(name, text, doing)
		list = append(list, t)
		return err
	})
	return list, next, err
}

// RemoveTier removes a tier without accounts. The error is an *InvalidError that names an account
// with the tier, or a *NoSuchError.
func (a *Accounts) RemoveTier(ctx context.Context, name string) error {
	const doing = "removing a tier"
	in := script.Call(ctx, a.client, lua.AccountRemoveTier, doing, []string{a.keys.Accounts(), a.keys.Tiers()}, []any{name})
	result, account := in.Int(0), in.String(1)
	switch {
	case in.Err != nil:
		return in.Err
	case result < 0:
		return &fault.InvalidError{Field: "tier", Value: name, Says: fmt.Sprintf("tier %q is in use: give account %q another one first", name, account)}
	case result == 0:
		return &fault.NoSuchError{What: "tier", Name: name}
	}
	return nil
}
