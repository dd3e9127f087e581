package quota

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Charges counts each account's messages in the natural hour and day of their
// send times, in the account's zone, against its tier.
//
// An account and a user may live on two servers of a cluster, so that no script
// has both. A change of a timeline is therefore made in three steps, after any
// of which the program may die:
//
//  1. Hold charges the account, or says that its quota is used up, and keeps a
//     hold: for a message that may be accepted.
//  2. Timeline.Reserve, Move or Release makes the change with that Hold, which is
//     valid for a while; the record of the message names its attempt.
//  3. Settle ends the hold: the charge stays where the change was made, and is
//     given back where it was not.
//
// Who finds a hold that nobody settled, Due and LookAfter, reads in the record of
// the message whether its change was made. So charge and timeline stay together,
// a change that is charged and not made being one that is held.
//
// A refusal is a Decision with CodeQuotaExceeded whose Counter is "hour" or
// "day", of both the day. ResetsAt is when that period ends: a send time from
// then on counts in another; RetryAfter is how long that is where it is the
// present one, otherwise zero, since no waiting makes room in a period to come.
// A limit changed in the tier holds from the next Hold; what is charged stays
// charged. While Redis is away nothing is charged and nothing accepted.
//
// A charge follows the message only as far as its caller decides: one that is
// postponed, dropped or given up stays charged in the hour and the day it was
// accepted for. To count calls as they come, use Counters.
//
// It is safe for concurrent use by any number of processes.
type Charges struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	within time.Duration // how long a change may take
	look   time.Duration // how long after that somebody looks
}

// Options configures Charges. The zero value means the defaults.
type Options struct {
	Prefix string // begins every key; "" means keyspace.DefaultPrefix
	// LookAfter is how long after a change had to be made its hold is due. A change
	// may take half of it. Zero means sendlimit.DefaultLookAfter.
	LookAfter time.Duration
}

// New returns the charges in the store behind client. The error is an
// *InvalidError.
func New(client redis.UniversalClient, o Options) (*Charges, error) {
	o.LookAfter = cmp.Or(o.LookAfter, sendlimit.DefaultLookAfter)
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.LookAfter < time.Millisecond {
		return nil, &fault.InvalidError{Field: "look_after", Value: o.LookAfter.String(), Want: "at least 1 ms"}
	}
	return &Charges{client: client, keys: keys, within: o.LookAfter / 2, look: o.LookAfter}, nil
}

// Request asks to charge an account for a message at a send time.
type Request struct {
	Account accounts.Account
	Tier    accounts.Tier // its limits and when to tell the account's contact
	User    string
	ID      string
	At      time.Time // the send time
	// Present says that the message is to be sent now: At is what the caller
	// takes for that, and the store's clock has to agree on the hour.
	Present bool
	// Standing is, of a move, the message as it stands: where it was charged is
	// given back if the move is made, and nothing is charged twice.
	Standing *messages.Standing
	Now      time.Time // as in Request
}

// Charge answers Hold and Check. A refusal is a Charge with Allowed false, not an
// error, and charges nothing.
type Charge struct {
	Allowed bool
	// Code says why not; it is empty when Allowed. CodeQuotaExceeded: the hour or
	// the day is used up. CodeOutsideHold: At is not in the store's present hour,
	// though the request is Present, or its hour is over. CodeHoldOver: this attempt
	// was settled before.
	Code fault.Code

	At time.Time // the send time that was judged
	// UsedUp is the hour or the day that has no messages left, with
	// CodeQuotaExceeded; of both, the day. A send time from its Until on counts in
	// the next one.
	UsedUp counters.Usage
	// RetryAfter is how long the period that is used up still lasts. It is zero if
	// that period has not begun: waiting makes no room in it.
	RetryAfter time.Duration

	// Hold is what the change has to be made with. A Charge that is Allowed has to
	// be settled; another has nothing to settle.
	Hold sendlimit.Hold
	// Notices has the ids of the notices that the charge put into the outbox.
	Notices []string
	// Now is the time that was judged: the store's clock, or the request's Now.
	Now time.Time
}

// Hold charges an account for a message that is about to get a place, a new one
// or another.
func (c *Charges) Hold(ctx context.Context, r Request) (Charge, error) {
	if err := checkCharge(r.Account.Name, r.User, r.ID); err != nil {
		return Charge{}, err
	}
	zone, err := r.Account.Location()
	if err != nil {
		return Charge{}, err
	}
	hour, day := calendar.ChargedPeriods(zone, r.At)
	h := holding{
		Request: r, hour: hour, day: day,
		attempt: newAttempt(hour.From, day.From), chargeHour: true, chargeDay: true,
	}
	if r.Standing != nil {
		h.takesOver(*r.Standing)
	}
	return c.hold(ctx, h)
}

// HoldRelease keeps a hold for a message that is about to be cancelled: what it
// was charged is given back if it is.
func (c *Charges) HoldRelease(ctx context.Context, s messages.Standing, now time.Time) (Charge, error) {
	if err := checkCharge(s.Account, s.User, s.ID); err != nil {
		return Charge{}, err
	}
	h := holding{
		Request: Request{Account: accounts.Account{Name: s.Account}, User: s.User, ID: s.ID, Now: now},
		attempt: keyspace.NewToken(),
	}
	h.takesOver(s)
	return c.hold(ctx, h)
}

func checkCharge(account, user, id string) error {
	if !accounts.ValidName(account) {
		return &fault.InvalidError{Field: "account", Value: account, Want: "a name of 1 to 64 of a-z 0-9 _ -"}
	}
	if err := keyspace.CheckUser(user); err != nil {
		return err
	}
	return keyspace.CheckID(id)
}

// holding is a hold that is being asked for.
type holding struct {
	Request

	attempt               string
	hour, day             calendar.Stretch // zero of a release
	chargeHour, chargeDay bool
	backHour, backDay     time.Time // given back if the change is made; zero for none
	former                string
	made                  []string // attempts that are known to be
}

// takesOver has what a message was charged given back, but for what it is
// charged still.
func (h *holding) takesOver(s messages.Standing) {
	h.former = s.Hold
	if s.Hold != "" {
		h.made = append([]string{s.Hold}, s.FormerHolds...)
	}
	hour, day, ok := chargedBy(s.Hold)
	if !ok || s.Account != h.Account.Name {
		return
	}
	if h.chargeHour = !hour.Equal(h.hour.From) && h.hour != (calendar.Stretch{}); !hour.Equal(h.hour.From) {
		h.backHour = hour
	}
	if h.chargeDay = !day.Equal(h.day.From) && h.day != (calendar.Stretch{}); !day.Equal(h.day.From) {
		h.backDay = day
	}
}

// What lua/charge/hold.lua says first.
const (
	holdHeld = iota
	holdExceeded
	holdOutside
	holdOver
)

func (c *Charges) hold(ctx context.Context, h holding) (Charge, error) {
	const doing = "charging an account"
	answer, err := script.Run(ctx, c.client, lua.Hold, doing, c.holdKeys(h), c.holdArguments(h))
	if err != nil {
		return Charge{}, err
	}
	in := script.Read(answer, doing)
	status := in.Int(0)
	charge := Charge{At: h.At, Now: in.Time(1)}
	notices := len(answer)
	switch status {
	case holdHeld:
		charge.Allowed = true
		notices = 3
	case holdExceeded:
		charge.refuse(h.exceeded(in))
		notices = 5
	case holdOutside:
		charge.Code = fault.CodeOutsideHold
	case holdOver:
		charge.Code = fault.CodeHoldOver
	default:
		return Charge{}, script.ReplyError(doing, fmt.Sprintf("status %d", status))
	}
	for i := notices; i < len(answer); i++ {
		charge.Notices = append(charge.Notices, in.String(i))
	}
	if charge.Allowed {
		charge.Hold = sendlimit.Hold{
			Account: h.Account.Name, Attempt: h.attempt, NotAfter: in.Time(2), Until: h.hour.Until, Former: h.former,
		}
	}
	return charge, in.Err
}

// exceeded reads which of the two periods is used up.
func (h holding) exceeded(in *script.ReplyReader) counters.Usage {
	period, stretch := calendar.Hour, h.hour
	if in.String(2) == "d" {
		period, stretch = calendar.Day, h.day
	}
	return counters.Usage{
		Counter: counters.Counter{Name: period.String(), Period: period, Limit: in.Int(4)},
		Used:    in.Int(3), From: stretch.From, Until: stretch.Until,
	}
}

// refuse completes the charge of a period that is used up.
func (c *Charge) refuse(usedUp counters.Usage) {
	c.Code, c.UsedUp = fault.CodeQuotaExceeded, usedUp
	if !c.Now.Before(usedUp.From) {
		c.RetryAfter = max(usedUp.Until.Sub(c.Now), time.Millisecond)
	}
}

func (c *Charges) holdKeys(h holding) []string {
	return []string{c.keys.Holds(h.Account.Name), c.keys.Hold(h.Account.Name, h.attempt)}
}

func (c *Charges) holdArguments(h holding) []any {
	charged, present := "", 0
	if h.chargeHour {
		charged += "h"
	}
	if h.chargeDay {
		charged += "d"
	}
	if h.Present {
		present = 1
	}
	percents, details := h.alert()
	return []any{
		script.Milliseconds(h.Now), c.keys.Partitions[keyspace.Partition(h.Account.Name)], h.attempt, h.Account.Name, h.User, h.ID,
		charged, script.Milliseconds(h.hour.From), script.Milliseconds(h.hour.Until), limitArgument(h.Tier.MessagesPerHour),
		script.Milliseconds(h.day.From), script.Milliseconds(h.day.Until), limitArgument(h.Tier.MessagesPerDay),
		present, script.Milliseconds(h.backHour), script.Milliseconds(h.backDay), c.within.Milliseconds(), c.look.Milliseconds(),
		percents, details, strings.Join(h.made, " "),
	}
}

// limitArgument is a limit as the script is told it: "" for none.
func limitArgument(limit int64) any {
	if limit == 0 {
		return ""
	}
	return limit
}

// alert says when the account's contact is told of the day's quota, and what:
// "" for never.
func (h holding) alert() (percents string, details string) {
	at := h.Tier.AlertAt
	if at == nil {
		at = policy.DefaultAlertAt()
	}
	if h.Account.Contact == "" || h.Tier.MessagesPerDay == 0 || len(at) == 0 {
		return "", ""
	}
	words := make([]string, len(at))
	for i, percent := range at {
		words[i] = strconv.Itoa(percent)
	}
	text, err := json.Marshal(map[string]string{"zone": h.Account.TimeZone}) // a part of NoticeDetails
	if err != nil {
		text = nil // a text always can be written
	}
	return strings.Join(words, " "), string(text)
}
