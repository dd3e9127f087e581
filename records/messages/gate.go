package messages

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Gate is the check just before a delivery. Claim leases a message to one delivery, Settle records
// the outcome. A repeated call with the same nonce returns the same answer.
type Gate struct {
	client redis.Scripter
	keys   keyspace.Keys
	rules  *judge.Rules
	fixed  sendlimit.Options // complete
	words  any               // the options as lua/message/claim.lua reads them
}

// NewGate returns the gate of a Timeline with the same Options. The error is an *InvalidError.
func NewGate(client redis.Scripter, o sendlimit.Options) (*Gate, error) {
	o, keys, err := o.Complete()
	if err != nil {
		return nil, err
	}
	return &Gate{client: client, keys: keys, rules: o.Rules, fixed: o, words: optionWords(o)}, nil
}

// optionWords returns the options of a gate as lua/message/claim.lua reads them.
func optionWords(o sendlimit.Options) string {
	attempts, keepContent := o.Attempts, script.NoValue
	if o.SkipUncertain {
		attempts = 0
	}
	if o.KeepContent {
		keepContent = "1"
	}
	return fmt.Sprintf("%d %d %s %d %d %d %d %d %s", o.Tolerance.Milliseconds(), o.ExpireAfter.Milliseconds(),
		script.Word(o.DropDueBefore), o.SettleWithin.Milliseconds(), attempts, o.KeepRecords.Milliseconds(),
		o.LookAfter.Milliseconds(), o.Horizon.Milliseconds(), keepContent)
}

// Verdict is the result of a Claim.
type Verdict uint8

// The verdicts, as lua/message/claim.lua numbers them.
const (
	Send      Verdict = iota // deliver it now, and settle
	Stale                    // the message has another generation, or ended: nothing to do
	Busy                     // another delivery goes first: claim again at Claim.Until
	Early                    // it is not due before Claim.Until
	Dropped                  // it ended without delivery, see Claim.Reason
	Postponed                // late, and no time is free now: it is in Claim.Placed, or waits until other rules apply
	Paused                   // its campaign is paused: claim again at Claim.Until
	Reached                  // it reached a device before, and ended as delivered without the others, see Claim.Reason
	OtherZone                // its local time was read in a former zone of the user: read it anew, and claim again

	lookOn // call the script again
)

var verdictNames = [...]string{"send", "stale", "busy", "early", "dropped", "postponed", "paused", "reached", "other_zone"} //nolint:globals // a constant table

// String returns the verdict for logs and metrics.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "verdict(" + strconv.Itoa(int(v)) + ")"
}

// Reasons of dropped and uncertain messages. A message that reached a device ends as delivered
// instead, and is not sent to the others for the same reasons.
const (
	ReasonExpired    = "expired"          // its expiry was before its time
	ReasonNoFreeTime = "no_free_time"     // late, and no time is free before its expiry; for the other devices, not at once
	ReasonBlocked    = "blocked"          // the user was blocked meanwhile
	ReasonOptedOut   = "opted_out"        // the user does not want the category any more
	ReasonSettings   = "settings_changed" // its user's settings changed, and it did not fit them
	ReasonNoDevice   = "no_device"        // the user has no device for it, or no longer
	ReasonRestored   = "restored"         // due before Options.DropDueBefore: it may have been sent, and keeps its place
	ReasonUncertain  = "uncertain"        // its worker died during a delivery; it keeps its place
)

// Delivery is one attempt to deliver a generation of a message.
type Delivery struct {
	User       string
	ID         string
	Generation string
	Nonce      string           // of this attempt, see keyspace.NewToken
	Origin     sendlimit.Origin // from its task; the claim does not need it
	// Paused has the paused campaigns, for Claim. It may be somewhat old, see PauseLag.
	Paused PausedCampaigns
}

// Claim is the result of a claim.
type Claim struct {
	Verdict Verdict
	Until   time.Time // of Busy, Early and Paused
	// InGrace is set with Busy during Options.SettleWithin after another delivery's lease: the
	// message may be taken over after a few claims, one at each Until.
	InGrace bool
	// The message, with Send; with Dropped and Reached only SendAt and Account.
	SendAt      time.Time // the current time if it is sent late
	Promised    time.Time // the send time before it was first late; zero if it is SendAt
	RequestedAt time.Time // zero if it is SendAt
	ExpiresAt   time.Time // the end of its deliveries; with Send only
	Attempt     int       // the number of deliveries, including this one
	TakenOver   bool      // from a delivery that was not settled: its outcome is uncertain
	Category    string
	Content     []byte
	Account     string // the charged account; "" for none
	Campaign    string // as in Record
	Metadata    []byte // as in Record; nil for none
	Trace       []byte // as in Record; nil for none
	Reason      string // of Dropped and Reached
	// Devices are the devices of the user, with Send and Options.Devices, encoded by package
	// devices; "" for none.
	Devices string
	// Progress has the devices for which the message has ended, with Send.
	Progress Progress
	// Placed are late messages of the user with a new time, including the claimed one if it was
	// postponed. Each needs a task of its new generation. The watch list has them, too.
	Placed []Placement
	// Dropped are other late messages of the user that ended.
	Dropped []Drop
	// Notices are the alerts that the new times raised, as in Decision.
	Notices []string
	// Now is the time of the call: the server's, or the given one.
	Now time.Time
}

// Placement is a late message with a new time.
type Placement struct {
	sendlimit.Timer // due at its new time

	From time.Time // its former time
}

// Drop is a message that ended without delivery.
type Drop struct {
	ID     string
	Reason string
	SendAt time.Time

	Account string // as in Claim
}

// Claim requests the delivery of a message; a zero now means the server's clock. With Send the
// message is leased to this delivery. If it is not settled before the lease and
// Options.SettleWithin end, another delivery takes it over.
//
// Within Options.Tolerance of its send time a message is sent at its place, even if the rules have
// changed. A later one is judged again at the current time, by the current rules and quiet hours,
// together with all late messages of its user. Oldest first, each gets the next free time before
// its expiry; messages on time keep their places. Late messages of a category with its own rules
// keep their order, and so do all others together. If an older one of these can be sent at once, or
// is being sent, the claimed one is Busy for a moment. The same is true of a message on time at a
// later place, if an older one is late again. It waits for at most 30 s, and not in the last 5 s
// before its own expiry: then the older one gets a new generation, in case its task was lost, and a
// running delivery is overtaken. A failed message delays no other until its retry. A message of an
// exempt category is sent at once. The reach of a policy does not apply to late messages. If no
// time is free before a dated change of its policy begins or ends, a message waits until then, as
// for a retry.
//
// A message of a campaign in Delivery.Paused waits, unless it has expired: the attempt does not
// count, its place counts for all others, and it delays none. The watch list returns it in an hour,
// at its expiry if that is earlier, or with Pauses.ResumeMessage.
//
// A message that may have arrived delays no other, and no other claim places it: its place counts
// until it is sent again. Late, it is Send if the current time is free without that place, which
// moves there. Otherwise it is Postponed without a place in Claim.Placed: it waits for the next
// free time, as for a retry.
//
// A message that reached a device before delays no other. Late, it is Send if the current time is
// free and no other message of its user has a place between its own and now. Its place moves there.
// So no device ever gets more than the rules allow: an interval with the former place and a later
// send also has the new place. Otherwise it is Reached, as it is where another one would be
// Dropped.
//
// A message that keeps its local time is OtherZone, and nothing is done, if that was read in a zone
// that is not the user's own any more, see sendlimit.Record.Local. Whether late or on time, it is not
// sent at an instant of the former zone. A message that may have arrived or reached a device is sent.
//
// For a late message of a user whose settings name a policy that Options.Rules does not have, the
// error is an *UnavailableError, see sendlimit.ErrUnknownPolicy.
func (g *Gate) Claim(ctx context.Context, d Delivery, lease time.Duration, now time.Time) (Claim, error) {
	if err := d.check(); err != nil {
		return Claim{}, err
	}
	if lease < time.Millisecond {
		return Claim{}, &fault.InvalidError{Field: "lease", Value: lease.String(), Want: "at least 1 ms"}
	}
	var placed []Placement
	var dropped []Drop
	var notices []string
	cursor := judge.SearchCursor{Begin: ""}
	book := g.rules.Book()
	call := judge.Call{Client: g.client, Script: lua.Claim, Doing: "claiming a message", User: d.User, LastKnown: true, At: func(judge.UserRules) time.Time { return now }}
	for {
		answer, by, err := book.Run(ctx, call, func(by judge.UserRules) ([]string, []any) {
			return g.claimArguments(d, lease, now, cursor.Under(by), by)
		})
		if err != nil {
			return Claim{}, err
		}
		book = by.Book
		c, err := readClaim(d.User, script.Read(answer, call.Doing), by, &cursor)
		if err != nil {
			return Claim{}, err
		}
		placed, dropped = append(placed, c.Placed...), append(dropped, c.Dropped...)
		notices = append(notices, c.Notices...)
		c.Placed, c.Dropped, c.Notices = placed, dropped, notices
		if c.Verdict == Dropped || c.Verdict == Reached || c.Verdict == Postponed || len(c.Placed)+len(c.Dropped) > 0 {
			g.fixed.Subscribers.Note(d.User)
		}
		if c.Verdict != lookOn {
			return c, nil
		}
	}
}

// readClaim reads the reply of a call. With lookOn it notes where to continue.
func readClaim(user string, in *script.ReplyReader, by judge.UserRules, cursor *judge.SearchCursor) (Claim, error) {
	verdict := in.Int(0)
	if in.Err == nil && (verdict < 0 || verdict > int64(lookOn)) {
		return Claim{}, script.ReplyError(in.Doing, fmt.Sprintf("verdict %d", verdict))
	}
	c := Claim{Verdict: Verdict(verdict), Now: in.Time(1)}
	switch c.Verdict {
	case Send:
		c.SendAt, c.Promised, c.RequestedAt = in.Time(2), in.Time(3), in.Time(4)
		c.Attempt, c.Category, c.Content = int(in.Int(5)), in.String(6), []byte(in.String(7))
		c.TakenOver = in.Int(8) == 1
		c.Account, c.Campaign = in.String(9), in.String(10)
		if metadata := in.String(11); metadata != "" {
			c.Metadata = []byte(metadata)
		}
		c.Devices, c.Progress = in.String(12), ParseProgress(in.String(13))
		c.ExpiresAt = in.Time(14)
		if trace := in.String(15); trace != "" {
			c.Trace = []byte(trace)
		}
		c.changes(user, in, 16)
	case Busy:
		c.Until, c.InGrace = in.Time(2), in.Int(3) == 1
	case Early, Paused:
		c.Until = in.Time(2)
	case Dropped:
		c.SendAt, c.Reason = in.Time(2), in.String(3)
		c.Account = in.String(4)
		c.changes(user, in, 5)
	case Reached:
		c.SendAt, c.Reason, c.Account = in.Time(2), in.String(3), in.String(4)
	case Postponed:
		c.changes(user, in, 2)
	case lookOn:
		at, class := in.Int(2), in.String(3)
		c.changes(user, in, 4)
		if in.Err != nil {
			break
		}
		if at == 0 { // others were placed: a new search starts
			*cursor = judge.SearchCursor{Begin: cursor.Begin}
		} else if err := cursor.GoOn(in.Doing, by, strconv.FormatInt(at, 10)+" "+class); err != nil {
			return Claim{}, err
		}
	case Stale, OtherZone:
	}
	return c, in.Err
}

func (g *Gate) claimArguments(
	d Delivery, lease time.Duration, now time.Time, from any, by judge.UserRules,
) (keys []string, args []any) {
	keys = []string{g.keys.Record(d.User, d.ID), g.keys.Timeline(d.User)}
	if g.fixed.Devices {
		keys = append(keys, g.keys.Devices(d.User))
	}
	args = by.Arguments(judge.Case{Now: now, Reach: g.fixed.Reach, Late: true}, 9)
	return keys, append(args, d.ID, d.Generation, d.Nonce, lease.Milliseconds(), keyspace.WatchWord(d.User, d.ID), g.words,
		from, g.fixed.Subscribers.Argument(), d.Paused.Argument())
}

// changes reads the changes of the user's late messages, from element i on: the notices, then six
// elements a message.
func (c *Claim) changes(user string, in *script.ReplyReader, i int) {
	notices := in.Nested(i)
	c.Notices = notices.Strings(0)
	in.Absorb(notices)
	for i++; i < len(in.Reply); i += 6 {
		account := in.String(i + 4)
		if at := in.Time(i + 2); at.IsZero() {
			c.Dropped = append(c.Dropped, Drop{ID: in.String(i), Reason: in.String(i + 1), SendAt: in.Time(i + 3), Account: account})
		} else {
			c.Placed = append(c.Placed, Placement{
				Timer: sendlimit.Timer{
					User: user, ID: in.String(i), Generation: in.String(i + 1), Due: at, Origin: sendlimit.Origin{Account: account, Campaign: in.String(i + 5)},
				},
				From: in.Time(i + 3),
			})
		}
	}
}

func (d Delivery) check() error {
	if err := keyspace.CheckUser(d.User); err != nil {
		return err
	}
	if err := keyspace.CheckID(d.ID); err != nil {
		return err
	}
	if err := keyspace.CheckToken("generation", d.Generation); err != nil {
		return err
	}
	return keyspace.CheckToken("nonce", d.Nonce)
}
