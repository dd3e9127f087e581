package quota

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// holdPart is a requested hold.
type holdPart struct {
	*Request

	of                    string           // ofThrottle, ofFormer; "" for the account
	hour, day             calendar.Stretch // zero for a release
	chargeHour, chargeDay bool
	backHour, backDay     time.Time // given back if the change is made; zero for none
	made                  []string  // names of holds whose changes were made
}

// takesOver marks a message's old charge to be given back, except for a period that it is charged
// for again.
func (h *holdPart) takesOver(s messages.Info) {
	if s.Hold != "" {
		for _, attempt := range append([]string{s.Hold}, s.FormerHolds...) {
			h.made = append(h.made, holdName(attempt, ""))
		}
	}
	former := chargedBy(s.Hold)
	hour, day := former.hour.From, former.day.From
	if hour.IsZero() || s.Account != h.Account.Name {
		return
	}
	if h.chargeHour = !hour.Equal(h.hour.From) && h.hour != (calendar.Stretch{}); !hour.Equal(h.hour.From) {
		h.backHour = hour
	}
	if h.chargeDay = !day.Equal(h.day.From) && h.day != (calendar.Stretch{}); !day.Equal(h.day.From) {
		h.backDay = day
	}
}

// Statuses of lua/charge/hold.lua.
const (
	holdHeld = iota
	holdExceeded
	holdOutside
	holdOver
)

// exceededDay means that the day is full, not the hour.
const exceededDay = 2

// hold makes the holds of one account, or of one throttle, in one call. They are judged in their
// order. All have the same Now, Tier and alert, and users whose servers have about the same clock;
// see share. Only a single one may take over earlier holds.
func (c *Charges) hold(ctx context.Context, call string, holdings []holdPart) ([]Charge, error) {
	const doing = "charging an account"
	keys := []string{c.keys.Holds(holdings[0].Account.Name)}
	in := script.Call(ctx, c.client, lua.Hold, doing, keys, c.holdArguments(call, holdings))
	now, notices := in.Time(0), in.Nested(1)
	charges := make([]Charge, len(holdings))
	for i, h := range holdings {
		charges[i] = h.charge(in, 2+4*i, now)
	}
	charges[0].Notices = notices.Strings(0)
	in.Absorb(notices)
	if in.Err == nil && len(in.Reply) != 2+4*len(holdings) {
		return nil, script.ReplyError(doing, fmt.Sprintf("%d elements for %d holds", len(in.Reply), len(holdings)))
	}
	return charges, in.Err
}

// charge reads the answer for one hold, four elements from the i-th on.
func (h holdPart) charge(in *script.ReplyReader, i int, now time.Time) Charge {
	charge := Charge{At: h.At, Now: now}
	switch status := in.Int(i); status {
	case holdHeld:
		charge.Allowed = true
		charge.Hold = sendlimit.Hold{NotAfter: in.Time(i + 1), From: h.hour.From, Until: h.hour.Until}
		charge.Day = h.dayUsage(in.Int(i + 2))
	case holdExceeded:
		charge.Day = h.dayUsage(in.Int(i + 2))
		charge.refuse(h.exceeded(in, i))
	case holdOutside:
		charge.Code = fault.CodeOutsideHold
	case holdOver:
		charge.Code = fault.CodeHoldOver
	default:
		in.Fail(i, "status of a hold")
	}
	return charge
}

// exceeded returns the exhausted period.
func (h holdPart) exceeded(in *script.ReplyReader, i int) counters.Usage {
	used := in.Int(i + 1)
	if in.Int(i+3) == exceededDay {
		return h.usage(calendar.Day, h.day, used, h.Tier.MessagesPerDay)
	}
	return h.usage(calendar.Hour, h.hour, used, h.Tier.MessagesPerHour)
}

// dayUsage returns the usage of the day; zero for -1.
func (h holdPart) dayUsage(used int64) counters.Usage {
	if used < 0 {
		return counters.Usage{}
	}
	return h.usage(calendar.Day, h.day, used, h.Tier.MessagesPerDay)
}

func (h holdPart) usage(period calendar.Period, stretch calendar.Stretch, used, limit int64) counters.Usage {
	return counters.Usage{
		Counter: counters.Counter{Name: period.String(), Period: period, Limit: limit},
		Used:    used, From: stretch.From, Until: stretch.Until,
	}
}

// refuse completes the charge of an exhausted period.
func (c *Charge) refuse(usedUp counters.Usage) {
	c.Code, c.UsedUp = fault.CodeQuotaExceeded, usedUp
	if usedUp.Counter.Period == calendar.Day {
		c.Day = usedUp
	}
	if !c.Now.Before(usedUp.From) {
		c.RetryAfter = max(usedUp.Until.Sub(c.Now), time.Millisecond)
	}
}

func (c *Charges) holdArguments(call string, holdings []holdPart) []any {
	first := holdings[0]
	percents, details := first.alert()
	var terms, hours spellings
	whose := make([]byte, 0, 64*len(holdings))
	for i := range holdings {
		h := &holdings[i]
		terms.add(h.terms())
		hours.add(h.hourWords())
		whose = append(append(append(append(whose, h.ID...), ' '), h.User...), '\n')
	}
	return []any{
		script.Milliseconds(first.Now), c.keys.Partitions[keyspace.Partition(first.Account.Name)], first.Account.Name,
		limitArgument(first.Tier.MessagesPerHour), limitArgument(first.Tier.MessagesPerDay), percents, details,
		c.within.Milliseconds(), c.look.Milliseconds(), strings.Join(first.made, " "),
		c.aheadOf(first.Request, first.Account.Name).Milliseconds(), call,
		strings.Join(terms.all, ";"), terms.letters, strings.Join(hours.all, ";"), hours.letters, whose,
	}
}

// spellings are the different texts of some, and for each text the letter of its spelling.
type spellings struct {
	all     []string
	letters []byte
}

func (s *spellings) add(text string) {
	n := slices.Index(s.all, text)
	if n < 0 {
		n, s.all = len(s.all), append(s.all, text)
	}
	s.letters = append(s.letters, letters[n])
}

// aheadOf returns how far the clock of the user's server is ahead of that of the charged subject's.
func (c *Charges) aheadOf(r *Request, subject string) time.Duration {
	if !r.Now.IsZero() {
		return 0 // it is the time everywhere
	}
	return c.ahead.Between(r.User, subject)
}

// terms spells what a hold charges and gives back, for the script.
func (h *holdPart) terms() string {
	charged := ""
	if h.chargeHour {
		charged += "h"
	}
	if h.chargeDay {
		charged += "d"
	}
	return strings.Join([]string{
		cmp.Or(charged, script.NoValue), script.Word(h.day.From), script.Word(h.day.Until), script.Word(h.backHour), script.Word(h.backDay),
	}, " ")
}

// hourWords spells the hour of a hold for the script.
func (h *holdPart) hourWords() string {
	present := "0 "
	if h.Present {
		present = "1 "
	}
	return present + script.Word(h.hour.From) + " " + script.Word(h.hour.Until)
}

// limitArgument returns a limit for the script: "" for none.
func limitArgument(limit int64) any {
	if limit == 0 {
		return ""
	}
	return limit
}

// alert returns the percents of the daily quota at which the account's contact is alerted, and the
// details of those notices, as words of a hold.
func (h holdPart) alert() (percents string, details string) {
	at := h.Tier.AlertAt
	if at == nil {
		at = policy.DefaultAlertAt()
	}
	if h.Account.Contact == "" || h.Tier.MessagesPerDay == 0 || len(at) == 0 {
		return script.NoValue, script.NoValue
	}
	words := make([]string, len(at))
	for i, percent := range at {
		words[i] = strconv.Itoa(percent)
	}
	text, err := json.Marshal(map[string]string{"zone": h.alertZone()}) // a part of notices.Details
	if err != nil {
		text = nil // never: strings can always be encoded
	}
	return strings.Join(words, ","), string(text)
}

// alertZone returns the time zone at the end of the day.
func (h holdPart) alertZone() string { return h.Account.ZoneAt(h.day.Until.Add(-time.Millisecond)) }
