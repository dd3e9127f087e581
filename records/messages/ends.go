package messages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// EndLag is how long after End a message of the campaign may still be accepted. Programs that accept
// messages must know the state of a campaign at most so long ago.
const EndLag = 4 * time.Second

// keepEnds is how long a campaign stays ended: no message can be scheduled for later.
const keepEnds = policy.DefaultReach

// Ends keeps which campaigns have ended. It is safe for concurrent use.
//
// Each ended campaign has a key of its own, which expires. So their number has no bound, and unlike
// paused campaigns they are not passed to each claim: what is pending when a campaign ends is
// cancelled, and nothing is accepted for it afterwards.
type Ends struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// NewEnds returns the ends in a store.
func NewEnds(client redis.Cmdable, keys keyspace.Keys) *Ends {
	return &Ends{client: client, keys: keys}
}

// End marks a campaign as ended, and returns since when it is. A second call keeps that time. It
// takes effect after EndLag.
func (e *Ends) End(ctx context.Context, c Campaign) (since time.Time, err error) {
	const doing = "ending a campaign"
	if err := c.Check(); err != nil {
		return time.Time{}, err
	}
	now, err := e.client.Time(ctx).Result()
	if err == nil {
		err = e.client.SetNX(ctx, e.keys.EndedCampaign(c.String()), now.UnixMilli(), keepEnds).Err()
	}
	if err != nil {
		return time.Time{}, store.Explain(err, doing)
	}
	return e.Since(ctx, c)
}

// Reopen lets a campaign have messages again, and reports whether it had ended.
func (e *Ends) Reopen(ctx context.Context, c Campaign) (was bool, err error) {
	if err := c.Check(); err != nil {
		return false, err
	}
	removed, err := e.client.Del(ctx, e.keys.EndedCampaign(c.String())).Result()
	return removed > 0, store.Explain(err, "reopening a campaign")
}

// Since returns since when a campaign has ended; zero if it has not.
func (e *Ends) Since(ctx context.Context, c Campaign) (time.Time, error) {
	const doing = "looking whether a campaign has ended"
	if err := c.Check(); err != nil {
		return time.Time{}, err
	}
	since, err := e.client.Get(ctx, e.keys.EndedCampaign(c.String())).Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, store.Explain(err, doing)
	default:
		return time.UnixMilli(since).UTC(), nil
	}
}

// EndedError is returned for a message of a campaign that has ended.
type EndedError struct {
	Campaign string
	Since    time.Time
}

// Error says what to do instead.
func (e *EndedError) Error() string {
	return fmt.Sprintf("campaign %q was cancelled at %s: reopen it, or use another campaign",
		e.Campaign, e.Since.Format(time.RFC3339))
}

// Code returns fault.CodeCampaignEnded.
func (e *EndedError) Code() fault.Code { return fault.CodeCampaignEnded }
