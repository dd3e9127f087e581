package submit

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
)

// AccountUsage returns how much of its quota an account has used in the present hour, and in the
// present and the following days.
func (s *Submitter) AccountUsage(ctx context.Context, a accounts.Account, t accounts.Tier) (message.AccountUsage, error) {
	balance, err := s.charger.charges.Balance(ctx, a, t)
	if err != nil {
		return message.AccountUsage{}, err
	}
	devices, err := s.channels.devices.Count(ctx, a.Name)
	if err != nil {
		return message.AccountUsage{}, err
	}
	return accountUsageOf(a, t, balance, devices), nil
}

// accountUsageOf returns the usage of an account in the form of answers.
func accountUsageOf(a accounts.Account, t accounts.Tier, b quota.Balance, devices int64) message.AccountUsage {
	usage := message.AccountUsage{
		Account: a.Name, Tier: a.Tier, Now: message.Time{Time: b.Now}, Hour: quotaUsageOf(b.Hour), Day: quotaUsageOf(b.Days[0]),
		Devices: message.DevicesUsage{Used: devices, Limit: t.Devices},
	}
	for _, day := range b.Days {
		usage.Days = append(usage.Days, quotaUsageOf(day))
	}
	if t.Devices > 0 {
		usage.Devices.Remaining = new(max(t.Devices-devices, 0))
	}
	return usage
}

func quotaUsageOf(u counters.Usage) message.QuotaUsage {
	usage := message.QuotaUsage{
		Used: u.Used, Limit: u.Counter.Limit, From: message.Time{Time: u.From}, Until: message.Time{Time: u.Until},
	}
	if left := u.Remaining(); u.Counter.Limit > 0 {
		usage.Remaining = &left
	}
	return usage
}
