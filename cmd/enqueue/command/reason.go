package command

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
)

// reason explains the status of a message, "" if there is nothing to explain.
func (p *program) reason(style picture.Style, s message.Status) string {
	switch s.Status {
	case message.StatusDropped:
		return p.dropped(style, s)
	case message.StatusUncertain:
		return uncertain(s)
	case message.StatusFailed:
		return failed(s)
	default:
		return p.before(style, s)
	}
}

// before explains why a message was not sent at its time, or at the first try.
func (p *program) before(style picture.Style, s message.Status) string {
	rule, late := s.Late()
	next := fmt.Sprintf("at %s%s", style.Time(s.NextTryAt.Time), p.fromNow(s.NextTryAt.Time))
	tries := ""
	if s.Status == message.StatusDelivered && s.Attempts > 1 {
		tries = fmt.Sprintf("%d tries", s.Attempts)
	}
	switch {
	case !s.EndedAt.IsZero():
		return "" // it was cancelled
	case s.Reason == messages.ReasonPaused && s.DeliveredAt.IsZero():
		return "its campaign is paused"
	case s.Reason == messages.ReasonPaused:
		return joined(tries, "its campaign was paused")
	case late && !s.NextTryAt.IsZero():
		return "it was late when its turn came, and is judged again " + next
	case late && s.Status == message.StatusPostponed:
		return s.Reason
	case rule != "":
		return joined(tries, "postponed: "+rule)
	case !s.NextTryAt.IsZero():
		return failed(s) + "; the next try is " + next
	case s.Failures() > 0 && s.Reason != "" && !late:
		return joined(tries, failed(s))
	default:
		return tries
	}
}

func joined(tries, why string) string {
	if tries == "" {
		return why
	}
	return tries + "; " + why
}

// failed returns how often a delivery failed, and the last reason.
func failed(s message.Status) string {
	if n := s.Failures(); n != 1 {
		return fmt.Sprintf("delivery failed (%s) %d times", s.Reason, n)
	}
	return fmt.Sprintf("delivery failed (%s) once", s.Reason)
}

// uncertain explains why a message may have been sent.
func uncertain(s message.Status) string {
	switch s.Reason {
	case messages.ReasonRestored:
		return "it was due before the time of --drop-due-before, and may have been sent"
	case messages.ReasonUncertain:
		return "it may have been sent: its worker stopped during the delivery"
	default:
		return fmt.Sprintf("it may have been sent (%s)", s.Reason)
	}
}

// dropped explains why a message was not sent.
func (p *program) dropped(style picture.Style, s message.Status) string {
	due, ended := style.Time(s.SendAt.Time), style.Time(s.EndedAt.Time)
	switch {
	case s.Reason == messages.ReasonExpired && s.ExpiresAt.IsZero():
		return fmt.Sprintf("it was due at %s, and had expired when a worker claimed it at %s", due, ended)
	case s.Reason == messages.ReasonExpired:
		return fmt.Sprintf("it was due at %s, expired at %s, and a worker claimed it at %s",
			due, style.Time(s.ExpiresAt.Time), ended)
	case s.Reason == messages.ReasonNoFreeTime:
		return fmt.Sprintf("no time was free for it before it expired (at %s)", ended)
	case s.Reason == messages.ReasonSettings:
		return fmt.Sprintf("the user's settings were changed, and it did not fit them (at %s)", ended)
	case s.Reason == messages.ReasonNoDevice:
		return fmt.Sprintf("the user had no device for it (at %s)", ended)
	case s.Reason == messages.ReasonBlocked:
		return fmt.Sprintf("the user was blocked (at %s)", ended)
	case s.Reason == messages.ReasonOptedOut:
		return fmt.Sprintf("the user has opted out of its category (at %s)", ended)
	default:
		return fmt.Sprintf("%s (at %s)", s.Reason, ended)
	}
}
