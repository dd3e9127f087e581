package dashboard

import (
	"context"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// stopped is what a page says of the stop of all sending.
type stopped struct {
	Since      time.Time
	By, Reason string // "" for a caller who is no operator: the reason may be about another account
}

// stopWithin bounds how long a page waits for the stop of all sending: one without it is better
// than none.
const stopWithin = 500 * time.Millisecond

// sendingStop returns the stop of all sending, for the banner of each page; nil for none.
func (d *Dashboard) sendingStop(ctx context.Context, who caller) *stopped {
	ctx, done := context.WithTimeout(ctx, stopWithin)
	defer done()
	stop, err := d.o.Overview.Sending(ctx)
	if err != nil {
		d.o.Logger.DebugContext(ctx, "could not look whether sending is stopped", "error", err)
	}
	if err != nil || stop == nil {
		return nil
	}
	shown := &stopped{Since: stop.Since}
	if who.Admin() {
		shown.By, shown.Reason = stop.By, stop.Reason
	}
	return shown
}

// changeSending stops all sending, or starts it again.
func (d *Dashboard) changeSending(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("do") != "start" {
		answer, err := d.api.StopSending(r.Context(), message.SendingStopDraft{Reason: r.PostFormValue("reason")})
		text := "All sending is stopped. Workers follow within two seconds."
		if answer.Outcome == message.SendingAlreadyStopped {
			text = "All sending was stopped already, and keeps the first reason."
		}
		d.end(w, r, err, text, "/")
		return
	}
	if !d.confirmed(w, r, "Start sending again? Messages that have become late go out as the rules allow, all at once unless a pace is set.", "Start sending", "/") {
		return
	}
	answer, err := d.api.StartSending(r.Context())
	text := "Sending goes on. Workers follow within two seconds."
	if answer.Outcome == message.SendingAlreadyRunning {
		text = "Sending was not stopped."
	}
	d.end(w, r, err, text, "/")
}
