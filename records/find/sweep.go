package find

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const sweeping = "looking for stale entries of the index"

// SweepResult is the result of a Sweep.
type SweepResult struct {
	Removed int // stale entries
	Refiled int // entries of campaigns that were not those of their messages
	Watched int // messages that got an entry in the watch list
}

// Sweep removes all stale entries: of messages whose records have expired, or that have another
// entry. It corrects those of another campaign than their message has. It adds messages that have not ended to the watch list if they are missing, see
// messages.WatchList.Mend. It reads all entries, even while the index is off. It makes its calls in
// throttle, which may wait.
func (x *Index) Sweep(
	ctx context.Context, watch *messages.WatchList, throttle func(ctx context.Context, batch func() error) error,
) (swept SweepResult, failed error) {
	for _, byCampaign := range []bool{false, true} {
		for w := newWalk(x.client, listsOf(x.keys, byCampaign), place{}); !w.ended(); {
			err := throttle(ctx, func() error {
				entries, err := w.next(ctx)
				if err != nil {
					return err
				}
				gone, misfiled, err := x.stale(ctx, w.of, entries)
				if err != nil {
					return err
				}
				n, err := x.refile(ctx, w.of, misfiled)
				swept.Refiled += n
				if err != nil {
					return err
				}
				n, err = x.forget(ctx, w.of, gone)
				swept.Removed += n
				if err != nil || byCampaign { // the ids have the same messages
					return err
				}
				n, err = watch.Mend(ctx, named(entries))
				swept.Watched += n
				return err
			})
			if err != nil {
				return swept, err
			}
		}
	}
	return swept, nil
}

func named(entries []entry) (all []messages.Message) {
	for _, e := range entries {
		if e.user != "" {
			all = append(all, messages.Message{User: e.user, ID: e.id})
		}
	}
	return all
}

// filed is an entry of the campaigns with what the record of its message has.
type filed struct {
	entry

	campaign, charge string
}

// score returns the score that the entry should have.
func (f filed) score() int64 {
	account, _, _ := strings.Cut(f.charge, " ")
	if account == script.NoValue {
		account = ""
	}
	return keyspace.CampaignScore(account, f.campaign)
}

// stale returns the stale entries, and those of another campaign than their message has.
func (x *Index) stale(ctx context.Context, of lists, entries []entry) (gone []entry, misfiled []filed, failed error) {
	known := make([]*redis.SliceCmd, len(entries))
	_, err := x.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, e := range entries {
			if e.user != "" {
				known[i] = pipe.HMGet(ctx, x.keys.Record(e.user, e.id), of.field(), keyspace.RecordCharge)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, store.Explain(err, sweeping)
	}
	for i, e := range entries {
		if known[i] == nil {
			continue
		}
		campaign, has := known[i].Val()[0].(string)
		charge, _ := known[i].Val()[1].(string)
		one := filed{e, campaign, charge}
		switch {
		case !has:
			gone = append(gone, e)
		case of.byCampaign && e.Score != one.score():
			misfiled = append(misfiled, one)
		case e.twice:
			gone = append(gone, e)
		}
	}
	return gone, misfiled, nil
}
