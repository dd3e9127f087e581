package submit

import (
	"context"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
)

// Balance returns how much of its quota an account has used in the present hour and day.
func (s *Submitter) Balance(ctx context.Context, a accounts.Account, t accounts.Tier) (quota.Balance, error) {
	return s.charger.charges.Balance(ctx, a, t)
}
