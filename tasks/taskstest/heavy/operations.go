package heavy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/refit"
)

// Operation is something that a caller does.
type Operation struct {
	Name string
	// Prepare, if any, writes the data for the operation. It is not measured.
	Prepare func(ctx context.Context, n int) error
	// Do makes the calls. It may be repeated with other numbers.
	Do func(ctx context.Context, n int) error
}

const (
	lateOnes    = 150  // late messages of a user
	waitingOnes = 1000 // that were late, and wait for their later places
	judgedOnes  = 200  // of a day, which a refit judges in part
)

func asked(day time.Time) time.Time { return day.Add(11 * time.Hour) }

// Operations returns all operations that judge, list or copy a user's places. The calls of client
// are measured; store is any client of the same server.
func (c Case) Operations(client, store *redis.Client, user string, day time.Time) ([]Operation, error) {
	o, err := c.Options()
	if err != nil {
		return nil, err
	}
	timeline, err := sendlimit.NewTimeline(client, o)
	if err != nil {
		return nil, err
	}
	gate, err := messages.NewGate(client, o)
	if err != nil {
		return nil, err
	}
	now := day.Add(-12 * time.Hour)
	request := func(n int, category string, shift bool) sendlimit.Request {
		id := fmt.Sprintf("%s-%s-%d", c.Name, category, n)
		return sendlimit.Request{
			User: user, ID: id, At: asked(day).Add(time.Duration(n) * time.Second), Category: category, Now: now, Shift: shift,
			Record: &sendlimit.Record{Generation: keyspace.NewToken(), Category: category, Fingerprint: id},
		}
	}
	next := day.Add(24 * time.Hour)
	claimLate := func(ctx context.Context, n int) error {
		id := lateID(n)
		d := messages.Delivery{User: user, ID: id, Generation: "g" + id, Nonce: keyspace.NewToken()}
		_, err := gate.Claim(ctx, d, time.Minute, next)
		return err
	}
	return []Operation{
		{
			Name:    "reserve",
			Prepare: func(ctx context.Context, _ int) error { return removePending(ctx, store, user) },
			Do: func(ctx context.Context, n int) error {
				_, err := timeline.Reserve(ctx, request(n, c.Category, false))
				return err
			},
		},
		{Name: "reserve many", Do: func(ctx context.Context, n int) error {
			requests := make([]sendlimit.Request, sendlimit.MaxReserveMany)
			for i := range requests {
				requests[i] = request(1000+n*len(requests)+i, c.Category, false)
			}
			_, err := timeline.ReserveMany(ctx, requests)
			return err
		}},
		{Name: "exempt", Do: func(ctx context.Context, n int) error {
			_, err := timeline.Reserve(ctx, request(n, exempt, false))
			return err
		}},
		{Name: "check", Do: func(ctx context.Context, n int) error {
			_, err := timeline.Check(ctx, request(n, c.Category, false))
			return err
		}},
		{Name: "shift", Do: func(ctx context.Context, n int) error {
			_, err := timeline.Reserve(ctx, request(100+n, c.Category, true))
			return err
		}},
		{Name: "move", Do: func(ctx context.Context, n int) error {
			_, err := timeline.Move(ctx, sendlimit.MoveRequest{
				User: user, ID: request(100, c.Category, true).ID, At: day.Add(time.Duration(n) * time.Hour),
				Generation: keyspace.NewToken(), Now: now,
			})
			return err
		}},
		{Name: "next free", Do: func(ctx context.Context, _ int) error {
			_, err := timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: user, From: day, Count: 3, Category: c.Category, Now: now})
			return err
		}},
		{Name: "usage", Do: func(ctx context.Context, _ int) error {
			_, err := timeline.Usage(ctx, sendlimit.UsageRequest{User: user, At: asked(day), Category: c.Category, Now: now})
			return err
		}},
		{Name: "usage of a span", Do: func(ctx context.Context, _ int) error {
			_, err := timeline.Usage(ctx, sendlimit.UsageRequest{
				User: user, At: asked(day), From: now, To: now.Add(7 * 24 * time.Hour), Category: c.Category, Now: now,
			})
			return err
		}},
		{Name: "list", Do: func(ctx context.Context, _ int) error {
			_, err := timeline.List(ctx, sendlimit.ListRequest{User: user, Now: now})
			return err
		}},
		{Name: "dryRun", Do: func(ctx context.Context, n int) error {
			dryRun := timeline.StartDryRun(client)
			d, err := dryRun.Check(ctx, request(n, exempt, false))
			direct, failed := timeline.Check(ctx, request(n, exempt, false))
			if err = errors.Join(err, failed); err == nil && d.Code != direct.Code {
				err = fmt.Errorf("the dry run answers %q, and the timeline %q", d.Code, direct.Code)
			}
			return errors.Join(err, dryRun.Close(ctx))
		}},
		{Name: "record sent", Do: func(ctx context.Context, n int) error {
			r := request(200+n, exempt, false)
			_, err := timeline.RecordSent(ctx, sendlimit.SentRequest{User: user, ID: r.ID, At: next.Add(-time.Hour), Record: r.Record, Now: next})
			return err
		}},
		{
			Name:    "late claim",
			Prepare: func(ctx context.Context, _ int) error { return writeLate(ctx, store, user, c.Category, next) },
			Do:      claimLate,
		},
		{
			Name: "late claim beside those that wait",
			Prepare: func(ctx context.Context, _ int) error {
				return errors.Join(writeLate(ctx, store, user, c.Category, next), writeWaiting(ctx, store, user, next))
			},
			Do: claimLate,
		},
		{
			Name:    "refit",
			Prepare: func(ctx context.Context, _ int) error { return writeJudged(ctx, store, user, c.Category, day) },
			Do: func(ctx context.Context, _ int) error {
				look, err := refit.NewFinder(client, o, refit.FinderOptions{Policy: c.Policy, Now: asked(day)})
				if err != nil {
					return err
				}
				totals, err := look.Partition(ctx, keyspace.Partition(user), func(context.Context, []refit.Misfit) error { return nil })
				if err == nil && totals.Reservations < judgedOnes/2 {
					err = fmt.Errorf("a refit judges %d reservations", totals.Reservations)
				}
				return err
			},
		},
	}, nil
}
