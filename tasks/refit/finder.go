package refit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Finder finds the reservations still to be sent that do not fit a policy, which
// may be one that is not applied. It changes nothing.
//
// It goes by time: a reservation stays if it breaks nothing together with those of
// its user that stay, those of exempt categories and all that are due or were sent.
// Otherwise it does not fit, and does not count against those after it. One that is
// due by now, or waits to be tried again, is judged when it goes out, and a message
// that was accepted without a place of its own has none that could not fit: neither
// is looked at.
//
// It goes through the watch lists, one partition after the other, so that its memory
// grows with the users of one partition and the misfits of a few users alone, and
// each of its calls is short. Safe for concurrent use.
type Finder struct {
	client   redis.Cmdable
	keys     keyspace.Keys
	reach    time.Duration
	book     *judge.Rulebook // with the policy in it
	policy   policy.Policy
	own      bool // the policy is for all users whose settings name no other
	now      time.Time
	throttle func(ctx context.Context, batch func() error) error
}

// FinderOptions say what a Finder is to find.
type FinderOptions struct {
	// Policy is the one to fit. Users are judged by it whose settings name it, and
	// where it is the first of FinderOptions.Rules, by its name, all whose settings name none.
	Policy policy.Policy
	Now    time.Time // replaces the server's clock, for tests; zero means the server's
	// Throttle runs a few calls to the store at a time, and may wait before it
	// returns, so that others have the store meanwhile; nil runs them as they come.
	Throttle func(ctx context.Context, batch func() error) error
}

// NewFinder returns a Finder of a store whose timelines have the options. FinderOptions.Policy
// stands in for the policy of its name in their rules, which stay as they are. The
// error is an *InvalidError.
func NewFinder(client redis.Cmdable, o sendlimit.Options, r FinderOptions) (*Finder, error) {
	o = o.WithDefaults()
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	rules, err := o.Rules.With(r.Policy)
	if err != nil {
		return nil, err
	}
	book := rules.Book()
	if r.Throttle == nil {
		r.Throttle = func(_ context.Context, batch func() error) error { return batch() }
	}
	return &Finder{
		client: client, keys: keys, reach: o.Reach, book: book, policy: r.Policy, own: book.Base.Policy.Name == r.Policy.Name,
		now: r.Now, throttle: r.Throttle,
	}, nil
}

// Misfit is a reservation that does not fit.
type Misfit struct {
	User string
	keyspace.Reservation

	Category string
	// ExpiresAt is when the message expires, as its caller set it: its send time has
	// to be before. Zero where none was set, since the message then expires so long
	// after its send time, whichever that is.
	ExpiresAt time.Time

	// Rule is the first that it breaks together with those that stay, RuleCategory
	// whose rule that is, "" for an overall one. Quiet is set instead where its time
	// is quiet.
	Rule         policy.Rule
	RuleCategory string
	Quiet        *policy.QuietPeriod
}

// Breaks names what a misfit breaks: "2/calendar_day", of a category's rule
// "marketing 2/calendar_day", or "quiet_hours".
func (m Misfit) Breaks() string {
	switch {
	case m.Quiet != nil:
		return string(fault.CodeQuietHours)
	case m.RuleCategory != "":
		return m.RuleCategory + " " + m.Rule.String()
	default:
		return m.Rule.String()
	}
}

// Occupied says of each partition whether it has users to look at, in a few round
// trips. Most partitions of a small store have none. The error is an
// *UnavailableError.
func (r *Finder) Occupied(ctx context.Context) ([]bool, error) {
	occupied := make([]bool, keyspace.Partitions)
	partitions, err := script.Occupied(ctx, r.client, messages.ReadingWatchList, r.keys.WatchLists)
	for _, partition := range partitions {
		occupied[partition] = true
	}
	return occupied, err
}

// Partition looks at the users of one partition, from 0 to Partitions - 1, and
// calls do with the misfits of each user who has some, ascending by time, then id.
// Misfits may be sent, moved or cancelled by others meanwhile. The totals are of
// the whole partition, beside an error of what was looked at before it. The error
// is an *InvalidError, an *UnavailableError, ErrReply or that of do.
func (r *Finder) Partition(
	ctx context.Context, partition int, do func(ctx context.Context, misfits []Misfit) error,
) (message.RefitTotals, error) {
	var totals message.RefitTotals
	if partition < 0 || partition >= keyspace.Partitions {
		return totals, &fault.InvalidError{
			Field: "partition", Value: strconv.Itoa(partition), Want: fmt.Sprintf("0 to %d", keyspace.Partitions-1),
		}
	}
	users, err := r.users(ctx, partition)
	if err != nil {
		return totals, err
	}
	for some := range slices.Chunk(users, refitUsersAtOnce) {
		looks, err := r.look(ctx, some)
		if err != nil {
			return totals, err
		}
		for _, l := range looks {
			if l.passed {
				totals.UnclearUsers += l.unclear
				continue
			}
			totals.Users++
			if slices.ContainsFunc(l.by.Rules.Policy.Rules, r.isBeside) {
				totals.LimitUsers++
			}
			totals.Reservations += l.progress.judged
			if len(l.progress.misfits) == 0 {
				continue
			}
			totals.MisfitUsers++
			totals.Misfits += len(l.progress.misfits)
			for _, m := range l.progress.misfits {
				totals.Count(m.Breaks(), 1)
			}
			if err := do(ctx, l.progress.misfits); err != nil {
				return totals, err
			}
		}
	}
	return totals, nil
}

// watchedAtOnce is how many entries of the watch list one call looks at, about.
const watchedAtOnce = 1000

// users lists who has messages in a partition that have not ended.
func (r *Finder) users(ctx context.Context, partition int) ([]string, error) {
	seen := make(map[string]struct{})
	var users []string
	take := func(entries []string) { // member and score in turn
		for i := 0; i < len(entries); i += 2 {
			user, _, _, ok := keyspace.ParseWatchMember(entries[i])
			if !ok {
				continue // of a newer program, perhaps
			}
			if _, known := seen[user]; !known {
				seen[user] = struct{}{}
				users = append(users, user)
			}
		}
	}
	return users, r.scanAll(ctx, r.keys.WatchLists(partition), take)
}

// scanAll calls take with all entries of sorted sets, some of them more than once. It reads a
// page of each in a round trip. Entries may move to the last set meanwhile: it is read from
// the begin again until the others are read.
func (r *Finder) scanAll(ctx context.Context, sets []string, take func(page []string)) error {
	type reading struct {
		cursor uint64
		page   *redis.ScanCmd
		ended  bool
	}
	readings := make([]reading, len(sets))
	last := &readings[len(sets)-1]
	for !last.ended {
		err := r.throttle(ctx, func() error {
			_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for i := range readings {
					if read := &readings[i]; !read.ended {
						read.page = pipe.ZScan(ctx, sets[i], read.cursor, "", int64(watchedAtOnce/len(sets)))
					}
				}
				return nil
			})
			if err != nil {
				return store.Explain(err, messages.ReadingWatchList)
			}
			return nil
		})
		if err != nil {
			return err
		}
		others := false // whether any but the last goes on
		for i := range readings {
			read := &readings[i]
			if read.ended {
				continue
			}
			var page []string
			page, read.cursor = read.page.Val()
			take(page)
			read.ended = read.cursor == 0
			others = others || !read.ended && read != last
		}
		if others {
			*last = reading{}
		}
	}
	return nil
}

// NextFree is the next time after a misfit's own that is free for it under the
// policy, before Misfit.ExpiresAt where that is set; zero where there is none.
func (r *Finder) NextFree(ctx context.Context, m Misfit) (time.Time, error) {
	if err := keyspace.CheckUser(m.User); err != nil {
		return time.Time{}, err
	}
	times, _, err := r.book.FreeTimes(ctx, judge.Search{
		Client: r.client, User: m.User, Timeline: r.keys.Timeline(m.User), Settings: r.keys.Settings(m.User), Reach: r.reach,
		Category: m.Category, Self: m.ID, From: m.At, Now: r.now, Count: 1, Later: true,
	})
	if err != nil || len(times) == 0 || !m.ExpiresAt.IsZero() && !times[0].Before(m.ExpiresAt) {
		return time.Time{}, err
	}
	return times[0], nil
}

// isBeside reports whether a rule of a user is a limit that replaces no rule of the policy.
func (r *Finder) isBeside(rule policy.Rule) bool {
	return !slices.ContainsFunc(r.policy.Rules, rule.SameWindow)
}
