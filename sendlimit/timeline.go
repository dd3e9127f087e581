package sendlimit

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// DefaultKeepRecords is how long a record is kept after its message ended.
const DefaultKeepRecords = 7 * calendar.DayLong

// DefaultExpireAfter is how long after its send time a message is dropped instead of sent.
// rather than sent.
const DefaultExpireAfter = calendar.DayLong

// DefaultMovesPerMinute is how often a message may be moved in a minute.
const DefaultMovesPerMinute = 10

// maxMovesPerMinute is the maximum of Options.MovesPerMinute.
const maxMovesPerMinute = 1000

// DefaultTolerance is how late a message may be sent without being judged again.
const DefaultTolerance = 2 * time.Second

// DefaultAttempts is the number of deliveries after which a message is given up if the last
// one was interrupted.
const DefaultAttempts = 8

// DefaultHorizon is how long before its send time a message is handed over to the queue.
const DefaultHorizon = 2 * time.Minute

// Bounds of Options.Horizon.
const (
	minHorizon = time.Second
	maxHorizon = policy.DefaultReach
)

// DefaultLookAfter is how long after a reserve or a move the relay checks whether the queue has the
// message.
const DefaultLookAfter = 10 * time.Second

// DefaultOverdueAfter is how long after its send time the relay checks a message that the queue
// has.
const DefaultOverdueAfter = time.Minute

// Options configures a Timeline, a Gate, a WatchList and DeadLetters. The zero value applies the
// default policy to every user, under the default prefix, without records.
type Options struct {
	Prefix string // begins every key; "" means DefaultPrefix
	// Rules has the policies. Everything that judges in a program shares one Rules. Nil applies the
	// default policy to every user and ignores users' settings.
	Rules *Rules
	Reach time.Duration // how far ahead a send time may lie, at most DefaultReach, its default
	// PlacesPerDay bounds how many places a user may have in a day of UTC, whatever the rules
	// allow. Counted and uncounted places are bounded separately. It keeps calls short. Zero means
	// policy.DefaultPlacesPerDay.
	PlacesPerDay int
	// Records keeps a record and a watch entry beside each place, for delivery through a Gate.
	// Policies with categories need it: only a record has a category.
	Records bool
	// WithoutIndex keeps no index of message ids: without its user, a message can be found only by
	// its campaign.
	WithoutIndex bool
	// KeepRecords is how long a record is kept after its message ended; zero means
	// DefaultKeepRecords.
	KeepRecords time.Duration
	// KeepContent keeps the content of a delivered message as long as its record. Otherwise a
	// delivery erases it.
	KeepContent bool
	// Devices makes a Gate read the user's devices with each message that it passes. Programs
	// without channels for devices leave it false, which saves a read.
	Devices bool
	// ExpireAfter is how long after its send time a message without its own expiry is dropped
	// instead of sent; zero means DefaultExpireAfter.
	ExpireAfter time.Duration
	// MovesPerMinute is how often a message may be moved or replaced in a minute, which begins with
	// the first move; at most 1,000, zero means DefaultMovesPerMinute. Moves that change nothing or
	// are refused do not count, and neither do those from one time beyond the Horizon to another,
	// which the queue never sees. Without records there is no limit.
	MovesPerMinute int
	// Tolerance is how late a message may be sent without being judged again; zero means
	// DefaultTolerance.
	Tolerance time.Duration
	// Attempts is the number of deliveries after which a message is given up if the last one
	// was interrupted; zero means DefaultAttempts.
	Attempts int
	// SettleWithin is how long after its lease a delivery may still settle, while the store
	// answers, before another delivery takes the message over. It is for a worker that could not
	// reach the store when the lease ended: make it longer than the time between two tries to
	// settle. Zero means that the lease is the end.
	SettleWithin time.Duration
	// SkipUncertain ends a message whose delivery was interrupted. The message may be lost,
	// but is never sent twice.
	SkipUncertain bool
	// DropDueBefore drops messages with an earlier send time; zero drops none.
	DropDueBefore time.Time
	// Horizon, LookAfter and OverdueAfter say when a message is due on the watch list. A message
	// that is due later than Horizon is handed over to the queue Horizon before its time. A nearer
	// message is checked LookAfter after a reserve or a move that the queue has not confirmed, and
	// OverdueAfter after its time if the queue has confirmed it. Zero means the defaults.
	Horizon, LookAfter, OverdueAfter time.Duration
	// Ahead is for a cluster whose masters have different clocks. Times that WatchList.Due gets and
	// returns are by the common clock.
	Ahead keyspace.Ahead
	// Subscribers are the accounts that get events of changes; nil means none. Everything in a
	// program that changes messages shares one.
	Subscribers *Subscribers
}

// WithDefaults returns the options with defaults in place of zero values.
func (o Options) WithDefaults() Options {
	if o.Rules == nil {
		o.Rules = judge.Default()
	}
	o.Reach = cmp.Or(o.Reach, policy.DefaultReach)
	o.PlacesPerDay = cmp.Or(o.PlacesPerDay, policy.DefaultPlacesPerDay)
	o.KeepRecords = cmp.Or(o.KeepRecords, DefaultKeepRecords)
	o.ExpireAfter = cmp.Or(o.ExpireAfter, DefaultExpireAfter)
	o.MovesPerMinute = cmp.Or(o.MovesPerMinute, DefaultMovesPerMinute)
	o.Tolerance = cmp.Or(o.Tolerance, DefaultTolerance)
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.Horizon = cmp.Or(o.Horizon, DefaultHorizon)
	o.LookAfter = cmp.Or(o.LookAfter, DefaultLookAfter)
	o.OverdueAfter = cmp.Or(o.OverdueAfter, DefaultOverdueAfter)
	return o
}

// Complete returns the options with defaults and the keys of their prefix. The error is an
// *InvalidError.
func (o Options) Complete() (Options, keyspace.Keys, error) {
	o = o.WithDefaults()
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return o, keys, err
	}
	return o, keys, o.Validate()
}

// Validate checks complete options, except the rules. The error is an *InvalidError.
func (o Options) Validate() error {
	switch {
	case o.Reach < time.Second || o.Reach > policy.DefaultReach:
		return &fault.InvalidError{Field: "reach", Value: o.Reach.String(), Want: "1 s to 366 days"}
	case o.PlacesPerDay < 1 || o.PlacesPerDay > policy.MaxPlacesPerDay:
		return &fault.InvalidError{
			Field: "places_per_day", Value: strconv.Itoa(o.PlacesPerDay), Want: fmt.Sprintf("1 to %d", policy.MaxPlacesPerDay),
		}
	case o.KeepRecords < time.Minute:
		return &fault.InvalidError{Field: "keep_records", Value: o.KeepRecords.String(), Want: "at least 1 minute"}
	case o.ExpireAfter < time.Second:
		return &fault.InvalidError{Field: "expire_after", Value: o.ExpireAfter.String(), Want: "at least 1 s"}
	case o.MovesPerMinute < 1 || o.MovesPerMinute > maxMovesPerMinute:
		return &fault.InvalidError{Field: "moves_per_minute", Value: strconv.Itoa(o.MovesPerMinute), Want: "1 to 1,000"}
	case o.Tolerance < 100*time.Millisecond || o.Tolerance > time.Hour: // if shorter, a slow reply would make a message late
		return &fault.InvalidError{Field: "tolerance", Value: o.Tolerance.String(), Want: "100 ms to 1 hour"}
	case o.Attempts < 1:
		return &fault.InvalidError{Field: "max_attempts", Value: strconv.Itoa(o.Attempts), Want: "at least 1"}
	case o.SettleWithin < 0:
		return &fault.InvalidError{Field: "settle_within", Value: o.SettleWithin.String(), Want: "at least 0"}
	case o.Horizon < minHorizon || o.Horizon > maxHorizon:
		return &fault.InvalidError{Field: "horizon", Value: o.Horizon.String(), Want: "1 s to 366 days"}
	case o.LookAfter < time.Millisecond:
		return &fault.InvalidError{Field: "look_after", Value: o.LookAfter.String(), Want: "at least 1 ms"}
	case o.OverdueAfter < time.Millisecond:
		return &fault.InvalidError{Field: "overdue_after", Value: o.OverdueAfter.String(), Want: "at least 1 ms"}
	}
	return nil
}

// Timeline limits each user's messages by their send times, ahead of time. Reserve takes a place;
// Check only judges. Move and Release change a reservation. NextFree, List, Usage and Forbidden
// read. Each call is atomic: one script, one round trip. A long search for a free time, a long
// list, the usage of a crowded time and forbidden times continue in further calls, so that they do
// not block the server.
//
// It is safe for concurrent use, by any number of processes on one store.
//
// Methods return an *InvalidError for an argument out of bounds, an *UnavailableError when the
// store does not answer, and fault.ErrReply for a reply that makes no sense.
type Timeline struct {
	client redis.Scripter
	keys   keyspace.Keys
	copyOf *keyspace.Keys // the real keys, in a dry run; else nil
	// copiesStay is how long the copies of a dry run stay; zero otherwise.
	copiesStay time.Duration
	rules      *judge.Rules
	options    Options // complete
	delays     any     // see judge.Delays
}

// NewTimeline returns a timeline in the store behind client. The error is an *InvalidError.
func NewTimeline(client redis.Scripter, o Options) (*Timeline, error) {
	o, keys, err := o.Complete()
	if err != nil {
		return nil, err
	}
	t := &Timeline{client: client, keys: keys, rules: o.Rules, options: o, delays: judge.Delays(o.LookAfter, o.Horizon, o.ExpireAfter)}
	if _, err := t.book(); err != nil {
		return nil, err
	}
	return t, nil
}

// book returns the policies that a call uses from start to end.
func (t *Timeline) book() (*judge.Rulebook, error) {
	book := t.rules.Book()
	if t.options.Records {
		return book, nil
	}
	return book, book.CheckRecords()
}

// WithClient returns the same timeline behind another client of the same store, for example a
// separate connection.
func (t *Timeline) WithClient(client redis.Scripter) *Timeline {
	changed := *t
	changed.client = client
	return &changed
}

// Policies returns the policies of the timeline's rules.
func (t *Timeline) Policies() []policy.Policy { return t.rules.Policies() }

// Reach returns how far ahead a send time may lie. A user's policy may allow less.
func (t *Timeline) Reach() time.Duration { return t.options.Reach }

// settings returns the key of a user's settings: the real ones, in a dry run too.
func (t *Timeline) settings(user string) string {
	if t.copyOf != nil {
		return t.copyOf.Settings(user)
	}
	return t.keys.Settings(user)
}

// about returns the arguments of a judging call besides the user's rules.
func (t *Timeline) about(now, at time.Time, scope *judge.Scope) judge.Case {
	return judge.Case{Now: now, Year: at, Reach: t.options.Reach, Places: t.options.PlacesPerDay, Scope: scope, CopiesStay: t.copiesStay}
}
