package userdata

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Events of a user's messages are in the stream of the partition, until they are gathered, and
// in the logs of accounts. If nobody listens to an account any more, the records of the user's
// messages name it; without such a record its events expire.

// eventStreams lists the streams that may have events of a user whose messages have these
// records. An event that moves meanwhile from the first to another is found there.
func (u *Users) eventStreams(ctx context.Context, user string, records []string) ([]string, error) {
	const doing = "looking for the events of a user"
	names := map[string]bool{keyspace.Everyone: true}
	listening, err := u.client.HKeys(ctx, u.keys.Listeners()).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	for _, account := range listening {
		names[account] = true
	}
	for some := range slices.Chunk(records, together) {
		charges := make([]*redis.SliceCmd, len(some))
		_, err := u.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, record := range some {
				charges[i] = pipe.HMGet(ctx, record, keyspace.RecordCharge)
			}
			return nil
		})
		if err != nil {
			return nil, store.Explain(err, doing)
		}
		for _, charge := range charges {
			if y, ok := charge.Val()[0].(string); ok {
				account, _, _ := strings.Cut(y, " ")
				names[account] = keyspace.ValidName(account) // otherwise nobody was charged
			}
		}
	}
	maps.DeleteFunc(names, func(_ string, valid bool) bool { return !valid })
	streams := []string{u.keys.PartitionEvents(keyspace.Partition(user))}
	for _, account := range slices.Sorted(maps.Keys(names)) {
		streams = append(streams, u.keys.AccountEvents(account), u.keys.AccountDeadEvents(account))
	}
	return streams, nil
}

// eachEvent calls do with the entries of a stream that are of a user, page by page.
func (u *Users) eachEvent(ctx context.Context, stream, user string, do func(entries []redis.XMessage) error) error {
	for from := "-"; ; {
		page, err := u.client.XRangeN(ctx, stream, from, "+", scanCount).Result()
		if err != nil {
			return store.Explain(err, "looking through events")
		}
		if len(page) == 0 {
			return nil
		}
		from = "(" + page[len(page)-1].ID
		own := slices.DeleteFunc(page, func(entry redis.XMessage) bool { return !events.IsOf(user, entry) })
		if len(own) == 0 {
			continue
		}
		if err := do(own); err != nil {
			return err
		}
	}
}

// eraseEvents removes the events of a user's messages, and returns how many.
func (u *Users) eraseEvents(ctx context.Context, user string, records []string) (removed int, failed error) {
	streams, err := u.eventStreams(ctx, user, records)
	if err != nil {
		return 0, err
	}
	for _, stream := range streams {
		err := u.eachEvent(ctx, stream, user, func(entries []redis.XMessage) error {
			ids := make([]string, len(entries))
			for i, entry := range entries {
				ids[i] = entry.ID
			}
			n, err := u.client.XDel(ctx, stream, ids...).Result()
			removed += int(n)
			return store.Explain(err, "removing events")
		})
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// exportEvents reads the events of a user's messages, by time. It returns an event of several streams
// once.
func (u *Users) exportEvents(ctx context.Context, user string, records []string) ([]Event, error) {
	streams, err := u.eventStreams(ctx, user, records)
	if err != nil {
		return nil, err
	}
	var found []Event
	seen := make(map[string]bool)
	for _, stream := range streams {
		err := u.eachEvent(ctx, stream, user, func(entries []redis.XMessage) error {
			read, err := events.Parse(entries, "exporting events")
			for _, e := range read {
				e.ID = "" // each stream has its own
				if text := fmt.Sprintf("%+v", e); !seen[text] {
					seen[text] = true
					found = append(found, eventOf(e))
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(found, func(a, b Event) int { return a.At.Compare(b.At.Time) })
	return found, nil
}

func eventOf(e events.Event) Event {
	return Event{
		Type: string(e.Type), ID: e.MessageID, Account: e.Account, At: message.Time{Time: e.At},
		SendAt: message.Time{Time: e.SendAt}, FormerSendAt: message.Time{Time: e.FormerSendAt}, Reason: message.EventReason(e.Reason),
		Attempt: e.Attempt, ProviderID: e.ProviderID, Campaign: e.Campaign, Metadata: message.DecodeMetadata(e.Metadata),
	}
}
