package dashboard

import (
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// forbiddenTo returns the times of a user's timeline at which no message may be sent.
func (d *Dashboard) forbiddenTo(r *http.Request, asked sendlimit.ForbiddenRequest) (sendlimit.Forbidden, error) {
	timeline, err := d.o.Timeline(r.Context())
	if err != nil {
		return sendlimit.Forbidden{}, err
	}
	return timeline.Forbidden(r.Context(), asked)
}

// forbiddenAnswer has the times that a message can't be moved to, for a script. Times are in Unix
// ms.
type forbiddenAnswer struct {
	From      int64              `json:"from"`
	Until     int64              `json:"until"`
	Now       int64              `json:"now"`
	Latest    int64              `json:"latest"`
	Expires   int64              `json:"expires,omitempty"` // the message must be sent before it
	Stretches []forbiddenStretch `json:"stretches"`
}

type forbiddenStretch struct {
	From  int64  `json:"from"`
	Until int64  `json:"until"`
	Why   string `json:"why"`
}

// forbidden answers with the times that a message can't be moved to, around the visible part of the
// timeline. The script uses it while the message is dragged.
func (d *Dashboard) forbidden(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	user, id := q.Get("name"), q.Get("id")
	status, err := d.api.Message(r.Context(), user, id)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	from, until := status.SendAt.Add(-longAround), status.SendAt.Add(longAround)
	if now := d.o.Now(); from.Before(now) {
		from = now
	}
	if !from.Before(until) {
		until = from.Add(longAround)
	}
	found, err := d.forbiddenTo(r, sendlimit.ForbiddenRequest{User: user, ID: id, Category: status.Category, From: from, To: until})
	if err != nil {
		d.showError(w, r, err)
		return
	}
	answer := forbiddenAnswer{
		From: from.UnixMilli(), Until: until.UnixMilli(), Now: found.Now.UnixMilli(), Latest: found.Latest.UnixMilli(),
		Stretches: make([]forbiddenStretch, 0, len(found.Stretches)),
	}
	if !status.ExpiresAt.IsZero() {
		answer.Expires = status.ExpiresAt.UnixMilli()
	}
	if found.Blocked || found.OptedOut {
		answer.Stretches = append(answer.Stretches, forbiddenStretch{From: answer.From, Until: answer.Until, Why: "the user is blocked"})
	}
	for _, s := range found.Stretches {
		answer.Stretches = append(answer.Stretches, forbiddenStretch{From: s.From.UnixMilli(), Until: s.Until.UnixMilli(), Why: whyForbidden(s)})
	}
	api.WriteJSON(w, http.StatusOK, answer)
}

// longAround is how far from its send time a message can be dragged: half of the longest range that
// is judged at once.
const longAround = 15 * 24 * time.Hour
