package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// UsageRequest asks how full a user's rules are.
type UsageRequest struct {
	User     string
	At       time.Time // the time to look at the rules around; zero means now
	From, To time.Time // the timeline's ends, up to 32 days apart; zero means 12 hours before and after At
	// Category has its rules looked at, too, and what is free for its messages; ""
	// means for those of no category.
	Category string
}

// What Usage returns. Messages that were sent and those still to be sent both count.
type (
	Usage     = message.Usage
	RuleUsage = message.RuleUsage // the fullest window of a rule that contains Usage.At
	Stretch   = message.Stretch
)

// Usage says how full a user's rules are, and what is free.
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

// NextFreeRequest asks when a user has room.
type NextFreeRequest struct {
	User     string
	From     time.Time // the time to look from; zero means now
	Count    int       // of times, 1 to 100; zero means one
	Category string    // of the messages to be sent then: its rules hold, too
}

// NextFree gives the next times that are free for a user. Each counts those
// before it as taken. Fewer come where no more are free as far ahead as messages
// are taken.
func (c *Client) NextFree(ctx context.Context, r NextFreeRequest) ([]time.Time, error) {
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
	if err != nil {
		return nil, err
	}
	times := make([]time.Time, len(answer.Times))
	for i, free := range answer.Times {
		times[i] = free.FreeAt.Time
	}
	return times, nil
}
