package dashboard

import (
	"math"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// timeline is the drawing of a part of a user's timeline. Lengths are in units of the drawing.
type timeline struct {
	From, Until time.Time
	Width       float64
	Height      float64
	Ticks       []tick
	Bands       []band
	Marks       []mark
	NowX        float64 // negative if now is not in it
	AtX         float64
	Bottom      float64 // of the bands
}

// tick is a line of the time axis with a label.
type tick struct {
	X     float64
	Label string
	Day   bool // a day begins
}

// band is a range in which no message may be sent, and the reason.
type band struct {
	X, Y, Width, Height float64
	Class, Why          string
	From, Until         time.Time
}

// mark is a message.
type mark struct {
	X, Y    float64
	ID      string
	SendAt  time.Time
	Status  string
	Class   string // what it looks like
	Movable bool
}

const (
	drawnWidth = 1000
	bandHeight = 56
	markTop    = 20
	markStep   = 18
	maxLanes   = 6
	markRadius = 7
)

// newTimeline draws the timeline of a user.
func newTimeline(p *userPage, forbidden sendlimit.Forbidden, from, until time.Time, movable bool) timeline {
	t := timeline{From: from, Until: until, Width: drawnWidth}
	lanes := t.addMarks(p.Messages, movable)
	t.Bottom = markTop + float64(max(lanes, 2))*markStep
	t.Height = t.Bottom + 40
	t.NowX = t.x(p.Now)
	if p.Now.Before(from) || p.Now.After(until) {
		t.NowX = -1
	}
	t.AtX = t.x(p.At)
	for _, s := range forbidden.Stretches {
		name := ruleName(s.Category, s.Rule.String())
		if p.Rule != "" && (s.Code != fault.CodeSendLimit || name != p.Rule) && s.Code != fault.CodeQuietHours && s.Code != fault.CodeDoNotDisturb {
			continue
		}
		b := band{
			X: t.x(s.From), Width: t.x(s.Until) - t.x(s.From), Y: 4, Height: t.Bottom - 4, Class: "taken", Why: whyForbidden(s),
			From: s.From, Until: s.Until,
		}
		if s.Code == fault.CodeQuietHours || s.Code == fault.CodeDoNotDisturb {
			b.Class = "quiet"
		}
		b.Width = math.Max(b.Width, 0.5)
		t.Bands = append(t.Bands, b)
	}
	if forbidden.Blocked || forbidden.OptedOut {
		t.Bands = append(t.Bands, band{X: 0, Width: drawnWidth, Y: 4, Height: t.Bottom - 4, Class: "taken", Why: "the user is blocked", From: from, Until: until})
	}
	t.addTicks(p.Zone)
	return t
}

// whyForbidden names the reason why a message can't be sent in a range.
func whyForbidden(s sendlimit.ForbiddenStretch) string {
	switch s.Code {
	case fault.CodeQuietHours:
		return "quiet hours (" + s.Quiet + ")"
	case fault.CodeDoNotDisturb:
		return "do-not-disturb"
	case fault.CodeTooManyPlaces:
		return "the user has the most messages for that day"
	default:
		return "the rule " + ruleName(s.Category, s.Rule.String())
	}
}

// x returns the position of a time in the drawing.
func (t timeline) x(at time.Time) float64 {
	share := float64(at.Sub(t.From)) / float64(t.Until.Sub(t.From))
	return math.Round(math.Max(0, math.Min(1, share))*drawnWidth*10) / 10
}

// addMarks adds the messages, and returns how many lie one above the other at most.
func (t *timeline) addMarks(messages []message.Status, movable bool) (lanes int) {
	var ends [maxLanes]float64
	for i := range ends {
		ends[i] = -drawnWidth
	}
	for _, m := range messages {
		x, lane := t.x(m.SendAt.Time), 0
		for lane < maxLanes-1 && ends[lane]+2.2*markRadius > x {
			lane++
		}
		ends[lane], lanes = x, max(lanes, lane+1)
		t.Marks = append(t.Marks, mark{
			X: x, Y: markTop + float64(lane)*markStep, ID: m.ID, SendAt: m.SendAt.Time, Status: m.Status,
			Class: markClass(m.Status), Movable: movable && m.ID != "" && pending(m.Status),
		})
	}
	return lanes
}

// pending reports whether a message with a status can still be moved.
func pending(status string) bool {
	return status == message.StatusScheduled || status == message.StatusMoved || status == message.StatusPostponed
}

// markClass returns what a message with a status looks like.
func markClass(status string) string {
	switch status {
	case message.StatusScheduled, message.StatusMoved:
		return "scheduled"
	case message.StatusPostponed:
		return "late"
	case message.StatusSending, message.StatusDelivered:
		return "sent"
	case message.StatusCancelled:
		return "cancelled"
	case message.StatusDropped, message.StatusFailed, message.StatusUncertain:
		return "dropped"
	default:
		return "unknown"
	}
}

// addTicks adds the lines of the time axis, at whole hours or days of a zone.
func (t *timeline) addTicks(zone *time.Location) {
	length := t.Until.Sub(t.From)
	const day = 24 * time.Hour
	step := day
	switch {
	case length <= 6*time.Hour:
		step = time.Hour
	case length <= day:
		step = 3 * time.Hour
	}
	at := t.From.In(zone)
	year, month, date := at.Date()
	days := 1
	if length > 10*day {
		days = 5
	}
	var last time.Time
	for n := 0; ; n++ {
		var next time.Time
		if step == day {
			next = calendar.DayStart(time.Date(year, month, date+n*days, 12, 0, 0, 0, zone), zone) // some days have no midnight
		} else {
			next = time.Date(year, month, date, n*int(step/time.Hour), 0, 0, 0, zone)
		}
		if !next.Before(t.Until) {
			return
		}
		// An hour that a clock change leaves out has the time of another one.
		if next.Before(t.From) || !next.After(last) {
			continue
		}
		last = next
		begins := next.Equal(calendar.DayStart(next, zone))
		label := next.Format("15:04")
		if begins {
			label = next.Format("Mon 2 Jan")
		}
		t.Ticks = append(t.Ticks, tick{X: t.x(next), Label: label, Day: begins})
	}
}
