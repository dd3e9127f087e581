package submit

import (
	"cmp"
	"context"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// share returns how many of a user's places of a day an account, "" for none, may have: all, if no
// other one is active.
func (c *charger) share(ctx context.Context, account string) (sendlimit.Share, error) {
	if account == "" {
		return sendlimit.Share{}, nil
	}
	share := sendlimit.Share{Account: account}
	several, err := c.payers.Several(ctx)
	if several {
		share.Places = max(1, c.placesPerDay*c.accountPlaces/percent)
	}
	return share, err
}

const percent = 100

// limitPlaces sets how many places a user may have in a day, and how many percent of them one
// account; zero means the defaults.
func (c *charger) limitPlaces(perDay, accountPlaces int) {
	c.placesPerDay = cmp.Or(perDay, policy.DefaultPlacesPerDay)
	c.accountPlaces = cmp.Or(accountPlaces, policy.DefaultAccountPlaces)
}
