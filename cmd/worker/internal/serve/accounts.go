package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// openAccounts returns the accounts of the store, and adds missing ones from the settings. It
// returns an error if nobody has a key although other machines reach the API, or it is the only way
// to the store.
func openAccounts(
	ctx context.Context, client redis.UniversalClient, c config.Config, logger *slog.Logger,
) (*accounts.Accounts, error) {
	accounts := accounts.New(client, keyspace.KeysUnder(c.Prefix))
	if c.AdminExposed() {
		logger.WarnContext(ctx, "other machines may read the probes and the metrics without a key:"+
			" restrict access to this address", "admin_listen", c.AdminListen)
	}
	if err := seedAccounts(ctx, accounts, c.Seeds, logger); err != nil {
		return nil, err
	}
	if !c.RequireKeys && !c.Exposed() {
		return accounts, nil
	}
	usable, err := accounts.HasUsableKey(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking for API keys: %w", err)
	case !usable && c.Exposed() && c.RedisURL != "":
		return nil, fault.Wrong("listen", "other machines may reach %s, and no account has a valid API key:"+
			" create one with sendlimit-worker account create NAME --scopes submit,read, or listen at a loopback address", c.Listen)
	case !usable && c.Exposed():
		_, port, _ := net.SplitHostPort(c.Listen)
		return nil, fault.Wrong("listen", "other machines may reach %s, so the API needs an API key, and the embedded store has none:"+
			" listen at a loopback address such as 127.0.0.1:%s, or "+firstKey, c.Listen, port)
	case !usable && c.RedisURL == "":
		return nil, fault.Wrong("require_keys", "the API needs an API key (require_keys), and the embedded store has none: "+firstKey)
	case !usable:
		logger.WarnContext(ctx, "the API requires keys, and no account has a valid one: create one with sendlimit-worker account create NAME")
	}
	if c.Exposed() && c.TLSCert == "" {
		logger.WarnContext(ctx, "the API is served without TLS on an address that other machines may reach: unless a proxy"+
			" in front does TLS, everybody on the way can read the keys (tls_cert, tls_key)", "listen", c.Listen)
	}
	return accounts, nil
}

// firstKey says how an embedded store gets its first key. No command reaches it without one.
const firstKey = "name an account with the key_sha256 of a key under accounts in the file of --config," +
	" or set redis_url and run sendlimit-worker account create NAME"

// seedAccounts adds the tiers and accounts that the store lacks. It does not change stored ones,
// and logs differences.
func seedAccounts(ctx context.Context, accounts *accounts.Accounts, seeds config.Seeds, logger *slog.Logger) error {
	for _, tier := range seeds.Tiers {
		created, err := accounts.SeedTier(ctx, tier)
		if err != nil {
			return fmt.Errorf("adding the tier %q to the store: %w", tier.Name, err)
		}
		if created {
			logger.InfoContext(ctx, "added a tier from the settings", "tier", tier.Name)
			continue
		}
		stored, ok, err := accounts.GetTier(ctx, tier.Name)
		if err != nil {
			return fmt.Errorf("looking at the tier %q: %w", tier.Name, err)
		}
		if ok && limitsOf(stored) != limitsOf(tier) {
			logger.WarnContext(ctx, "a tier in the settings differs from the store's, which applies: sendlimit-worker tier set changes it",
				"tier", tier.Name, "settings", limitsOf(tier), "store", limitsOf(stored))
		}
	}
	for _, seed := range seeds.Accounts {
		created, err := accounts.Seed(ctx, seed)
		if err != nil {
			return fmt.Errorf("adding the account %q to the store: %w", seed.Name, err)
		}
		stored, ok, err := accounts.Get(ctx, seed.Name)
		if err != nil {
			return fmt.Errorf("looking at the account %q: %w", seed.Name, err)
		}
		if created {
			logger.InfoContext(ctx, "added an account from the settings", "account", seed.Name, "keys", len(stored.Keys))
			for _, key := range stored.Keys {
				logger.InfoContext(ctx, "a key was created", "owner", seed.Name, "owner_key", key.ID)
			}
			continue
		}
		if differs := differences(stored, seed.Account); ok && len(differs) > 0 {
			logger.WarnContext(ctx, "an account in the settings differs from the store's, which applies: sendlimit-worker account set changes it",
				"account", seed.Name, "differs_in", differs)
		}
	}
	return nil
}

// limitsOf formats a tier for the log.
func limitsOf(t accounts.Tier) string {
	return fmt.Sprintf("%s requests per minute, %s per day, %s lines per minute, %s messages per hour, %s per day, %s devices, alerts at %s",
		cli.FormatLimit(t.RequestsPerMinute), cli.FormatLimit(t.RequestsPerDay), cli.FormatLimit(t.LinesPerMinute), cli.FormatLimit(t.MessagesPerHour), cli.FormatLimit(t.MessagesPerDay), cli.FormatLimit(t.Devices), cli.FormatAlertAt(t.AlertAt))
}

// differences returns the names of the settings in which two accounts differ, without
// values: a contact is somebody's address. It ignores keys, which come and go.
func differences(a, b accounts.Account) []string {
	var names []string
	for _, field := range []struct{ name, a, b string }{
		{"tier", a.Tier, b.Tier},
		{"contact", a.Contact, b.Contact},
		{"time_zone", cmp.Or(a.TimeZone, "UTC"), cmp.Or(b.TimeZone, "UTC")},
		{"report_at", a.ReportAt, b.ReportAt},
	} {
		if field.a != field.b {
			names = append(names, field.name)
		}
	}
	return names
}
