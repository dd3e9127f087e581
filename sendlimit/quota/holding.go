package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// holding is a hold that is being asked for.
type holding struct {
	Request

	attempt               string
	hour, day             calendar.Stretch // zero of a release
	chargeHour, chargeDay bool
	backHour, backDay     time.Time // given back if the change is made; zero means none
	made                  []string  // holds whose changes are known to be made
}

// takesOver marks what a message was charged to be given back, except for a
// period that it is charged for again.
func (h *holding) takesOver(s messages.Standing) {
	if s.Hold != "" {
		h.made = append([]string{s.Hold}, s.FormerHolds...)
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
		if used := in.Int(3); used >= 0 {
			charge.Day = h.usage(calendar.Day, h.day, used, h.Tier.MessagesPerDay)
		}
		notices = 4
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
		charge.Hold = sendlimit.Hold{NotAfter: in.Time(2), Until: h.hour.Until}
	}
	return charge, in.Err
}

// exceeded reads which of the two periods is used up.
func (h holding) exceeded(in *script.ReplyReader) counters.Usage {
	period, stretch := calendar.Hour, h.hour
	if in.String(2) == "d" {
		period, stretch = calendar.Day, h.day
	}
	return h.usage(period, stretch, in.Int(3), in.Int(4))
}

func (h holding) usage(period calendar.Period, stretch calendar.Stretch, used, limit int64) counters.Usage {
	return counters.Usage{
		Counter: counters.Counter{Name: period.String(), Period: period, Limit: limit},
		Used:    used, From: stretch.From, Until: stretch.Until,
	}
}

// refuse completes the charge of a period that is used up.
func (c *Charge) refuse(usedUp counters.Usage) {
	c.Code, c.UsedUp = fault.CodeQuotaExceeded, usedUp
	if usedUp.Counter.Period == calendar.Day {
		c.Day = usedUp
	}
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

// limitArgument returns a limit as the script reads it: "" for none.
func limitArgument(limit int64) any {
	if limit == 0 {
		return ""
	}
	return limit
}

// alert returns the percents of the day's quota at which the account's contact is
// alerted, and the details of those notices; "" for none.
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
	text, err := json.Marshal(map[string]string{"zone": h.Account.ZoneAt(h.day.Until.Add(-time.Millisecond))}) // a part of notices.Details
	if err != nil {
		text = nil // never: strings can always be encoded
	}
	return strings.Join(words, " "), string(text)
}
