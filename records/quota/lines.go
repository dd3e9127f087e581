package quota

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// TakeLines takes n lines of batches from the bucket of an account, all or none. The bucket holds
// perMinute lines, at most rate.MaxCount, and refills in a minute. n is at most that. Batches of
// all processes share it. Errors are those of rate.TokenBucket.Take.
func (c *Charges) TakeLines(ctx context.Context, account string, perMinute, n int64) (rate.Grant, error) {
	bucket, err := c.lineBucket(perMinute)
	if err != nil {
		return rate.Grant{}, err
	}
	return bucket.Take(ctx, rate.TokenRequest{Key: lineKey(account), Tokens: n})
}

// GiveLinesBack gives back unused lines.
func (c *Charges) GiveLinesBack(ctx context.Context, account string, perMinute, n int64) error {
	bucket, err := c.lineBucket(perMinute)
	if err != nil {
		return err
	}
	_, err = bucket.GiveBack(ctx, rate.TokenRequest{Key: lineKey(account), Tokens: n})
	return err
}

func (c *Charges) lineBucket(perMinute int64) (*rate.TokenBucket, error) {
	return rate.NewTokenBucket(c.client, rate.TokenBucketOptions{Prefix: c.prefix, Rate: LineRate(perMinute)})
}

// LineRate returns the rate for a number of lines a minute. A number without an exact Rate is
// rounded up by less than 2 in 100,000.
func LineRate(perMinute int64) rate.Rate {
	const minute = int64(time.Minute / time.Millisecond)
	interval := minute
	for minute%interval != 0 || perMinute*interval > rate.MaxCount*minute {
		interval--
	}
	return rate.Rate{Count: (perMinute*interval + minute - 1) / minute, Interval: time.Duration(interval) * time.Millisecond}
}

// lineKey returns the key of an account's bucket. No other bucket has a key with a space.
func lineKey(account string) string { return "lines " + account }
