package message

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Window asks for a free time from From on and before Until. A zero From means now, unless the begin
// is a local time.
type Window struct {
	From, Until time.Time
	Prefer      policy.Prefer // with policy.PreferNearest, Message.SendAt is the time to be near to
}

// WindowDraft is a Window as a caller writes it.
type WindowDraft struct {
	From   When          `json:"from,omitzero" doc:"The begin: RFC 3339, a local time, or now, which is the default."`
	Until  When          `json:"until" doc:"The end, which is not included: RFC 3339, or a local time. The expiry of the message and the latest send time that is accepted end the window, too."`
	Prefer policy.Prefer `json:"prefer,omitempty" doc:"Which free time of the window the message gets. earliest, the default: the first one. latest: the last one. nearest: the one nearest to send_at; of two, the earlier. spread: the first one from a time on that is drawn over the whole window by account, user and id, else the first one, so that many messages fill a window evenly. best: as spread, but drawn by the best_hours of the user."`
}

// ResolvedWindow is the window that a message was submitted for, with its local times as instants.
type ResolvedWindow struct {
	From   Time          `json:"from" doc:"The begin."`
	Until  Time          `json:"until" doc:"The end, which is not included."`
	Prefer policy.Prefer `json:"prefer" doc:"Which free time of the window the message gets."`
	SendAt Time          `json:"send_at,omitzero" doc:"With nearest, the time that the message is to be near to."`
}

// WindowEnd says why the last time of a window is not free.
type WindowEnd struct {
	SendAt            Time        `json:"send_at" doc:"The last time of the window at which the message could be sent."`
	Code              fault.Code  `json:"code" doc:"Why it is not free."`
	QuietHours        *QuietHours `json:"quiet_hours,omitempty" doc:"The quiet hours that contain it, with the code quiet_hours."`
	DoNotDisturbUntil Time        `json:"do_not_disturb_until,omitzero" doc:"The time before which the user is not disturbed, with the code do_not_disturb."`
	Violations        []Violation `json:"violations,omitempty" doc:"Every rule that a message at that time would break."`
}

// hasSendAt reports whether a send time was asked for.
func (m Message) hasSendAt() bool {
	return m.Now || !m.SendAt.IsZero() || m.Local != nil && m.Local.SendAt != LocalTime{}
}

// validateWindow checks what may stand beside a window.
func (m Message) validateWindow(wrong *fault.InvalidErrors) {
	w := m.Window
	if w == nil {
		return
	}
	wrong.Add(fault.InField(w.Prefer.Check(), "window.prefer"))
	if w.Until.IsZero() && (m.Local == nil || m.Local.Until == LocalTime{}) {
		wrong.Add(fault.Wrong("window.until", "window.until is required: an RFC 3339 time such as 2040-06-22T11:11:11Z"))
	}
	switch nearest := w.Prefer == policy.PreferNearest; {
	case nearest && m.Now:
		wrong.Add(fault.Wrong("send_at", "send_at can't be now with prefer nearest: use prefer earliest, or a time to be near to"))
	case !nearest && m.hasSendAt():
		wrong.Add(fault.Wrong("send_at", "send_at and window can't be given together: leave one out, or use prefer nearest"))
	}
	for _, beside := range []struct{ field, value string }{
		{"on_conflict", m.OnConflict}, {"late", m.Late}, {"shift_until", unixMilli(m.ShiftUntil)},
	} {
		if beside.value != "" || beside.field == "shift_until" && m.Local != nil && m.Local.ShiftUntil != (LocalTime{}) {
			wrong.Add(fault.Wrong(beside.field, "%s has no meaning with a window: leave it out", beside.field))
		}
	}
}

// compareWindow checks the order of the ends of the window and the expiry.
func (m Message) compareWindow(wrong *fault.InvalidErrors) {
	w := m.Window
	if w.From.IsZero() || w.Until.IsZero() {
		return
	}
	if w.Until.UnixMilli() <= w.From.UnixMilli() {
		wrong.Add(fault.Wrong("window.until", "window.until, %s, is not after window.from", w.Until.UTC().Format(time.RFC3339Nano)))
	}
	if !m.ExpiresAt.IsZero() && m.ExpiresAt.UnixMilli() <= w.From.UnixMilli() {
		wrong.Add(fault.Wrong("expires_at", "expires_at, %s, is not after window.from", m.ExpiresAt.UTC().Format(time.RFC3339Nano)))
	}
}

// ResolvedWindow returns the window of a message whose local times are resolved; nil for none. A
// window that begins now begins at now.
func (m Message) ResolvedWindow(now time.Time) *ResolvedWindow {
	if m.Window == nil {
		return nil
	}
	w := &ResolvedWindow{
		From: Time{cmp.Or(m.Window.From, now)}, Until: Time{m.Window.Until}, Prefer: cmp.Or(m.Window.Prefer, policy.PreferEarliest),
	}
	if w.Prefer == policy.PreferNearest {
		w.SendAt = Time{m.SendAt}
	}
	return w
}

// The first word of an encoded window, which EncodeLocal does not write, and the word for no time.
const (
	windowWord = "w"
	noTime     = "."
)

// EncodeWindow returns a window for a record: at most 64 bytes.
func EncodeWindow(w ResolvedWindow) string {
	word := func(at Time) string { return cmp.Or(unixMilli(at.Time), noTime) }
	return strings.Join([]string{windowWord, string(w.Prefer), word(w.From), word(w.Until), word(w.SendAt)}, " ")
}

// DecodeWindow reads what EncodeWindow wrote; nil for another text.
func DecodeWindow(text string) *ResolvedWindow {
	part := strings.Split(text, " ")
	if len(part) != 5 || part[0] != windowWord {
		return nil
	}
	var at [3]Time
	for i, word := range part[2:] {
		if word == noTime {
			continue
		}
		ms, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil
		}
		at[i] = Time{time.UnixMilli(ms).UTC()}
	}
	return &ResolvedWindow{Prefer: policy.Prefer(part[1]), From: at[0], Until: at[1], SendAt: at[2]}
}
