package sendlimittest

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// ChargeModel is a plain model of the charges of accounts and throttles. A message that was
// accepted and not cancelled counts once in the hour and once in the day of its send time,
// in its account's zone, and once in the period of the throttle that its record names. A cancelled
// one still counts if its period has reached its limit of returned charges, see package quota. Do
// not use it for days on which the clocks change.
type ChargeModel struct {
	// Tiers bound how many cancelled messages of an account a period gives back. Accounts that
	// are not in it have no limits.
	Tiers map[string]accounts.Tier

	zones   map[string]*time.Location // by account
	charged map[string]chargedMessage // by user and id
}

type chargedMessage struct {
	account, attempt string
	at               time.Time
}

// NewChargeModel returns a model in which no account is charged. Accounts that
// are not in zones count in UTC.
func NewChargeModel(zones map[string]*time.Location) *ChargeModel {
	return &ChargeModel{zones: zones, charged: make(map[string]chargedMessage)}
}

// Update sets the state of a message: accepted, moved, cancelled, or dropped by settings, which counts
// as cancelled.
func (m *ChargeModel) Update(s messages.Info) {
	key := s.User + "\x00" + s.ID
	// The gate drops nothing before its time: changed settings of its user did.
	bySettings := s.State == messages.StateDropped && (s.Reason == messages.ReasonSettings || s.EndedAt.Before(s.SendAt))
	if s.State == messages.StateUnknown || s.State == messages.StateCancelled || bySettings {
		delete(m.charged, key)
		return
	}
	m.charged[key] = chargedMessage{s.Account, s.Hold, s.SendAt}
}

// Charged returns the expected counters of the store by their keys.
func (m *ChargeModel) Charged(keys keyspace.Keys) map[string]int {
	counts := make(map[string]int)
	for _, message := range m.charged {
		if words := strings.SplitN(message.attempt, "~", 3); len(words) == 3 {
			length := time.Minute
			if strings.HasSuffix(words[2], "~h") {
				length = time.Hour
			}
			counts[keys.Charged("~"+words[2], "h", message.at.Truncate(length))]++
		}
		if message.account == "" {
			continue
		}
		zone := m.zones[message.account]
		if zone == nil {
			zone = time.UTC
		}
		local := message.at.In(zone)
		hour := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), 0, 0, 0, zone)
		day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, zone)
		counts[keys.Charged(message.account, "h", hour)]++
		counts[keys.Charged(message.account, "d", day)]++
		counts[keys.Charged(message.account, "s", day)]++
	}
	return counts
}

// Wanted returns the counts of Charged, adjusted to the counters found in the store. A counter may
// be above the model if its period has reached its limit of returned charges.
func (m *ChargeModel) Wanted(keys keyspace.Keys, found map[string]int) map[string]int {
	want := m.Charged(keys)
	for account, tier := range m.Tiers {
		unit, units, limit := "d", "ds", tier.MessagesPerDay
		if limit == 0 {
			unit, units, limit = "h", "h", tier.MessagesPerHour
		}
		for key, n := range found {
			for _, of := range units {
				back := strings.Replace(key, ":q:"+account+":"+string(of)+":", ":back:"+account+":"+unit+":", 1)
				if back != key && limit > 0 && int64(found[back]) == limit {
					want[key] = max(want[key], n)
				}
			}
		}
	}
	return want
}

// RequireCharged requires that the counters under a prefix are exactly the
// model's, that each has a TTL, and that there is no hold.
func RequireCharged(tb testing.TB, client redis.UniversalClient, prefix string, m *ChargeModel) {
	tb.Helper()
	keys, err := keyspace.NewKeys(prefix)
	require.NoError(tb, err)
	ctx := tb.Context()
	found := make(map[string]int)
	counters := keysOf(ctx, tb, client, keys.Prefix()+":{p*}:q:*")
	for _, key := range append(counters, keysOf(ctx, tb, client, keys.Prefix()+":{p*}:back:*")...) {
		text, err := client.Get(ctx, key).Result()
		require.NoError(tb, err)
		found[key], err = strconv.Atoi(text)
		require.NoError(tb, err, key)
		require.Positive(tb, client.PTTL(ctx, key).Val(), "%s never expires", key)
	}
	want := m.Wanted(keys, found)
	maps.DeleteFunc(found, func(key string, _ int) bool { return strings.Contains(key, "}:back:") })
	require.Equal(tb, want, found)
	require.Empty(tb, keysOf(ctx, tb, client, keys.Prefix()+":{p*}:holds"), "what is held")
}

// keysOf lists the keys that match a pattern, on all masters of a cluster.
func keysOf(ctx context.Context, tb testing.TB, client redis.UniversalClient, pattern string) []string {
	tb.Helper()
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		keys, err := client.Keys(ctx, pattern).Result()
		require.NoError(tb, err)
		return keys
	}
	lists := make(chan []string, 16)
	require.NoError(tb, cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		keys, err := master.Keys(ctx, pattern).Result()
		if err != nil {
			return fmt.Errorf("listing keys: %w", err)
		}
		lists <- keys
		return nil
	}))
	close(lists)
	var all []string
	for list := range lists {
		all = append(all, list...)
	}
	return all
}
