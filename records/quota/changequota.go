package quota

import (
	"context"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// SetTier stores a tier as accounts.SetTier does. If that changes the daily quota, it updates the
// alerts of the tier's accounts: their usage may be past a threshold of a lower quota, and the
// thresholds of a higher one alert again. If the process dies in between, the next charge does
// this.
func (c *Charges) SetTier(ctx context.Context, directory *accounts.Accounts, t accounts.Tier) error {
	before, _, err := directory.GetTier(ctx, t.Name)
	if err != nil {
		return err
	}
	if err := directory.SetTier(ctx, t); err != nil {
		return err
	}
	if before.MessagesPerDay == t.MessagesPerDay {
		return nil
	}
	all, err := directory.List(ctx)
	if err != nil {
		return err
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	days := make(map[zones][]calendar.Stretch)
	for _, account := range all {
		if account.Tier != t.Name || account.Contact == "" {
			continue
		}
		if err := c.changeQuota(ctx, account, before, t, now, days); err != nil {
			return err
		}
	}
	return nil
}

// SetAccount changes an account as accounts.Set does. If that changes the daily quota, it updates
// the account's alerts as SetTier does.
func (c *Charges) SetAccount(
	ctx context.Context, directory *accounts.Accounts, name string, change accounts.Change,
) (accounts.Account, error) {
	if change.Tier == nil {
		return directory.Set(ctx, name, change)
	}
	_, before, _, err := directory.Resolve(ctx, name)
	if err != nil {
		before = accounts.Tier{} // its tier is missing, and the change may repair that
	}
	account, err := directory.Set(ctx, name, change)
	if err != nil {
		return accounts.Account{}, err
	}
	_, after, ok, err := directory.Resolve(ctx, name)
	if err != nil || !ok || account.Contact == "" || before.MessagesPerDay == after.MessagesPerDay {
		return account, err
	}
	now, err := c.now(ctx)
	if err != nil {
		return account, err
	}
	return account, c.changeQuota(ctx, account, before, after, now, make(map[zones][]calendar.Stretch))
}

// changeQuota applies a changed quota to the alerts of every charged day of an account, from today
// on. It caches the days of accounts with the same zones in days.
func (c *Charges) changeQuota(
	ctx context.Context, a accounts.Account, before, after accounts.Tier, now time.Time, days map[zones][]calendar.Stretch,
) error {
	const doing = "applying a changed quota"
	of := zones{a.TimeZone, a.FormerZone, a.ZoneFrom}
	if days[of] == nil {
		var err error
		if days[of], err = daysFrom(a, now); err != nil {
			return err
		}
	}
	keys := make([]string, len(days[of]))
	for i, day := range days[of] {
		keys[i] = c.keys.Charged(a.Name, "s", day.From)
	}
	charged, err := c.client.MGet(ctx, keys...).Result()
	if err != nil {
		return store.Explain(err, doing)
	}
	raised := 0
	if after.MessagesPerDay == 0 || before.MessagesPerDay > 0 && after.MessagesPerDay > before.MessagesPerDay {
		raised = 1
	}
	for i, day := range days[of] {
		if charged[i] == nil {
			continue
		}
		percents, details := holdPart{Request: &Request{Account: a, Tier: after}, day: day}.alert()
		_, err := script.Run(ctx, c.client, lua.ChangeQuota, doing, keys[i:i+1], []any{
			"", c.keys.Partitions[keyspace.Partition(a.Name)], a.Name, script.Milliseconds(day.From), script.Milliseconds(day.Until),
			strconv.FormatInt(after.MessagesPerDay, 10), raised, percents, details,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// zones are an account's time zone and its former one.
type zones struct {
	zone, former string
	from         time.Time
}

// daysFrom returns the days of an account in which messages may be charged, from today on.
func daysFrom(a accounts.Account, now time.Time) ([]calendar.Stretch, error) {
	var days []calendar.Stretch
	for at := now; at.Before(now.Add(policy.DefaultReach)); {
		_, day, err := a.Periods(at)
		if err != nil {
			return nil, err
		}
		days = append(days, day)
		at = day.Until
	}
	return days, nil
}
