package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// UsageRequest selects the usage of a user.
type UsageRequest struct {
	User     string
	At       time.Time // the time to look at; zero means now
	From, To time.Time // the timeline, up to 32 days; zero means 12 hours before and after At
	// Category adds the rules of a category, and shows what is free for its messages.
	// "" means messages without one.
	Category string
}

type (
	// Usage tells how full the rules of a user are around a time. Sent and scheduled
	// messages both count.
	Usage = message.Usage
	// RuleUsage is the fullest window of a rule that contains Usage.At.
	RuleUsage = message.RuleUsage
	// Stretch is the time from From to before Until.
	Stretch = message.Stretch
	// FreeTime is a time that is free for a user.
	FreeTime = message.FreeTime
)

// Usage returns how full a user's rules are, and what is free. Throttles are not asked.
func (c *Client) Usage(ctx context.Context, r UsageRequest) (Usage, error) {
	const doing = "asking for a user's usage"
	path, err := userPath(r.User, "usage")
	if err != nil {
		return Usage{}, fmt.Errorf("%s: %w", doing, err)
	}
	var u Usage
	err = c.do(ctx, call{
		doing: doing, method: http.MethodGet, path: path,
		query: values("at", spell(r.At), "from", spell(r.From), "to", spell(r.To), "category", r.Category),
	}, &u)
	return u, err
}

// NextFreeRequest selects the next free times of a user.
type NextFreeRequest struct {
	User     string
	From     time.Time // the first time to look at; zero means now
	Count    int       // number of times, 1 to 100; zero means one
	Category string    // of the messages to be sent then
}

// NextFree returns the next times that are free for a user. Each assumes that those
// before it are taken. It returns fewer than Count if no more are free within the reach
// of schedules. Throttles are not asked.
func (c *Client) NextFree(ctx context.Context, r NextFreeRequest) ([]FreeTime, error) {
	const doing = "asking for free times"
	path, err := userPath(r.User, "next-free")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	var answer message.FreeTimes
	err = c.do(ctx, call{
		doing: doing, method: http.MethodGet, path: path,
		query: values("from", spell(r.From), "count", count(r.Count), "category", r.Category),
	}, &answer)
	return answer.Times, err
}
