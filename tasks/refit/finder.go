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

// Finder finds the pending reservations that do not fit a policy, which
// may be one that is not applied. It changes nothing.
//
// It judges by time: a reservation fits if it breaks no rule together with the earlier ones of
// its user that fit, those of exempt categories and all that are due or were sent.
// A misfit does not count against later ones. A message that is due or waits for its
// retry is judged when it is sent, and a message without a place has none to judge: the Finder skips
// both.
//
// It goes through the watch lists, one partition after the other. Its memory
// has only the users of one partition and the misfits of a few users, and
// its calls are short. It is safe for concurrent use.
type Finder struct {
	client   redis.Cmdable
	keys     keyspace.Keys
	reach    time.Duration
	book     *judge.Rulebook // with the policy in it
	policy   policy.Policy
	own      bool // the policy is that of users whose settings name none
	now      time.Time
	proposed *policy.UserSettings // judges by these settings of a user; nil for those in the store
	follows  bool                 // what users have switched off, or was read in another zone of theirs, does not fit either
	throttle func(ctx context.Context, batch func() error) error
}

// FinderOptions configure a Finder.
type FinderOptions struct {
	// Policy is the one to fit, for users whose settings name it. If it is the first of the
	// timeline's rules, by its name, it is also for users whose settings name none.
	Policy policy.Policy
	Now    time.Time // replaces the server's clock in tests
	// Throttle runs a few calls to the store, and may then wait, to leave time for other
	// callers; nil runs them without a wait.
	Throttle func(ctx context.Context, batch func() error) error
}

// NewFinder returns a Finder of a store whose timelines have the options. FinderOptions.Policy
// replaces the policy of its name, in a copy of their rules. The error is an *InvalidError.
func NewFinder(client redis.Cmdable, o sendlimit.Options, r FinderOptions) (*Finder, error) {
	o, keys, err := o.Complete()
	if err != nil {
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
	// ExpiresAt is the message's expiry, which a new send time has to be before. It is zero if its
	// caller set none: then it depends on the send time.
	ExpiresAt time.Time

	// Rule is the first broken rule, RuleCategory its category, "" for a rule of the policy. Quiet is
	// set instead if its time is quiet.
	Rule         policy.Rule
	RuleCategory string
	Quiet        *policy.QuietPeriod
	// Disturbs is set instead if its time is before the user's DoNotDisturbUntil.
	Disturbs bool
	// Local is set instead if the message keeps its local time, which was read in another zone of the
	// user.
	Local *message.ResolvedLocal
	// Off is set instead if the user has switched it off: messages.ReasonBlocked or ReasonOptedOut.
	Off string
}

// Breaks names the broken rule: "2/calendar_day", "marketing 2/calendar_day" for a category,
// "quiet_hours", "do_not_disturb", "time_zone", "blocked" or "opted_out".
func (m Misfit) Breaks() string {
	switch {
	case m.Off != "":
		return m.Off
	case m.Local != nil:
		return sendlimit.EditZone
	case m.Disturbs:
		return string(fault.CodeDoNotDisturb)
	case m.Quiet != nil:
		return string(fault.CodeQuietHours)
	case m.RuleCategory != "":
		return m.RuleCategory + " " + m.Rule.String()
	default:
		return m.Rule.String()
	}
}

// Occupied reports which partitions have users, in a few round
// trips. The error is an *UnavailableError.
func (r *Finder) Occupied(ctx context.Context) ([]bool, error) {
	occupied := make([]bool, keyspace.Partitions)
	partitions, err := script.Occupied(ctx, r.client, messages.ReadingWatchList, r.keys.WatchLists)
	for _, partition := range partitions {
		occupied[partition] = true
	}
	return occupied, err
}

// Partition judges the users of one partition, from 0 to Partitions - 1, and
// calls do with the misfits of each user who has some, ascending by time, then id.
// Others may send, move or cancel misfits meanwhile. The totals are those of
// the partition, or those before an error. The error
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
		looks := make([]*refitLook, len(some))
		for i, user := range some {
			looks[i] = &refitLook{user: user}
		}
		looks, err := r.look(ctx, looks)
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

// watchedAtOnce is about how many entries of the watch list one call reads.
const watchedAtOnce = 1000

// users lists the users of a partition with messages that have not ended.
func (r *Finder) users(ctx context.Context, partition int) ([]string, error) {
	seen := make(map[string]struct{})
	var users []string
	take := func(entries []string) { // member and score in turn
		for i := 0; i < len(entries); i += 2 {
			user, _, _, ok := keyspace.ParseWatchMember(entries[i])
			if !ok {
				continue // perhaps of a newer program
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
// page of each in a round trip. Entries may move to the last set meanwhile: it is read
// again until the others are read.
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

// NextFree returns the next free time of a misfit under the
// policy, before Misfit.ExpiresAt if that is set; zero for none.
func (r *Finder) NextFree(ctx context.Context, m Misfit) (time.Time, error) {
	if err := keyspace.CheckUser(m.User); err != nil {
		return time.Time{}, err
	}
	search := judge.Search{
		Client: r.client, User: m.User, Timeline: r.keys.Timeline(m.User), Settings: r.keys.Settings(m.User), Reach: r.reach,
		Category: m.Category, Self: m.ID, From: m.At, Now: r.now, Count: 1, Later: true,
	}
	if r.policy.SpreadsShifts() {
		search.Shift = &judge.Shift{User: m.User, ID: m.ID, Category: m.Category, At: m.At}
		if !m.ExpiresAt.IsZero() {
			search.Shift.Until = m.ExpiresAt.Add(-time.Millisecond)
		}
	}
	times, _, err := r.book.FreeTimes(ctx, search)
	if err == nil && len(times) == 0 && search.Shift != nil {
		search.Shift = nil // no other time is free
		times, _, err = r.book.FreeTimes(ctx, search)
	}
	if err != nil || len(times) == 0 || !m.ExpiresAt.IsZero() && !times[0].Before(m.ExpiresAt) {
		return time.Time{}, err
	}
	return times[0], nil
}

// isBeside reports whether a user's limit replaces no rule of the policy.
func (r *Finder) isBeside(rule policy.Rule) bool {
	return !slices.ContainsFunc(r.policy.Rules, rule.SameWindow)
}
