package submit

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// judgement is a decision about a message, with its context.
type judgement struct {
	generation string
	content    int // bytes
	decision   sendlimit.Decision
	err        error
}

// judge creates the request of a message, which may replace another one, and judges it with reserve.
func (s *Submitter) judge(
	ctx context.Context, m resolved, replaces *sendlimit.Replacement, t *sendlimit.Timeline,
	reserve func(context.Context, sendlimit.Request) (sendlimit.Decision, error),
) (message.Outcome, judgement) {
	request, err := s.request(m)
	if err != nil {
		return message.InvalidOutcome(err, m.Message), judgement{}
	}
	request.Replace = replaces
	if request.Share, err = s.charger.share(ctx, m.Account); err != nil {
		return message.Outcome{}, judgement{err: err}
	}
	return s.judgeRequest(ctx, m, request, t, time.Time{}, reserve)
}

// judgeRequest is judge for a given request, so that a retry sends the same one. sent is when it
// was sent to the store before, by the local clock; zero means that it was not.
func (s *Submitter) judgeRequest(
	ctx context.Context, r resolved, request sendlimit.Request, t *sendlimit.Timeline, sent time.Time,
	reserve func(context.Context, sendlimit.Request) (sendlimit.Decision, error),
) (message.Outcome, judgement) {
	m := r.Message
	// A message that has expired, does not fit its devices' channels or is of an ended campaign would
	// never be sent, and a full store accepts nothing. An earlier answer for its id takes precedence:
	// Check finds it.
	var unfit, full error
	var ended *messages.EndedError
	expired := false
	if sent.IsZero() {
		var err error
		if unfit, err = s.channels.checkDevices(ctx, m, request); err != nil {
			return message.Outcome{}, judgement{err: err}
		}
		if err = s.campaigns.Check(ctx, campaignOf(m)); err != nil && !errors.As(err, &ended) {
			return message.Outcome{}, judgement{err: err}
		}
		expired, full = s.hasExpired(m), s.capacity.refusal(ctx)
	}
	if unfit != nil || ended != nil || expired || full != nil || r.wrong != nil {
		reserve = t.Check
		request.WithoutFreeTimes = request.WithoutFreeTimes || ended != nil
	}
	decide := func(r sendlimit.Request) (sendlimit.Decision, error) {
		if r.Window != nil {
			return t.InWindow(ctx, r, reserve)
		}
		return reserve(ctx, r)
	}
	clock := s.clock.OfUser(m.User)
	if sent.IsZero() {
		sent = clock.Local()
	}
	d, err := decide(request)
	if errors.As(err, &ended) { // meanwhile
		reserve = t.Check
		request.WithoutFreeTimes = true
		d, err = decide(request)
	}
	if err != nil {
		return message.Outcome{}, judgement{err: err}
	}
	clock.Learn(sent, clock.Local(), d.Now)
	if d.Code == fault.CodeInPast && m.Window == nil && d.Now.Sub(m.SendAt) <= s.late(m) {
		if d, err = reserve(ctx, s.asNow(m, request)); err != nil {
			return message.Outcome{}, judgement{err: err}
		}
	}
	if r.wrong != nil && !d.Replayed {
		return message.InvalidOutcome(r.wrong, m), judgement{}
	}
	if unfit != nil && judgedByRules(d) {
		return message.InvalidOutcome(unfit, m), judgement{}
	}
	if ended != nil && judgedByRules(d) {
		return message.Outcome{
			Outcome: message.Refused, User: m.User, ID: request.ID, SendAt: message.Time{Time: d.At},
			Code: ended.Code(), Detail: ended.Error(),
		}, judgement{decision: sendlimit.Decision{Now: d.Now}}
	}
	if expired && judgedByRules(d) {
		return message.InvalidOutcome(fault.Wrong("expires_at", "expires_at, %s, has passed", m.ExpiresAt.UTC().Format(time.RFC3339Nano)), m), judgement{}
	}
	if d.Code == fault.CodeInvalidField {
		return message.InvalidOutcome(expiresLate(m.ExpiresAt, d.Latest), m), judgement{}
	}
	if full != nil && d.Allowed && !d.Replayed {
		return message.Outcome{}, judgement{err: full}
	}
	o := outcomeOf(d, submitted(d), m.User, request.ID)
	if r.window != nil {
		explainWindow(&o, d)
	}
	if wasLate(m, d) {
		o.Late, o.RequestedAt = true, message.Time{Time: m.SendAt.UTC()}
	}
	return o, judgement{
		generation: request.Record.Generation, content: len(request.Record.Content), decision: d,
	}
}

// submitted returns the outcome of a submit that was accepted.
func submitted(d sendlimit.Decision) string {
	if d.Replaced {
		return message.Replaced
	}
	return message.Accepted
}

// campaignOf returns the campaign of a message. Its name is "" for none.
func campaignOf(m message.Message) messages.Campaign {
	return messages.Campaign{Account: m.Account, Name: m.Campaign}
}

// late returns how long ago the send time of a message may have passed.
func (s *Submitter) late(m message.Message) time.Duration {
	if m.Late == "" {
		return s.Policies.Rules().Of(m.User).Late
	}
	late, err := policy.ParseLate(m.Late)
	if err != nil {
		return 0 // Validate refuses it
	}
	return late
}

// asNow returns the request of a message as if its send time were now. The record is the same, so
// that a repeated submit is recognized.
func (s *Submitter) asNow(m message.Message, r sendlimit.Request) sendlimit.Request {
	m.Now = true
	r.At, r.Shift, r.ByPolicy = time.Time{}, m.Shifts(), false
	if r.Shift {
		r.ShiftUntil = s.shiftUntil(m)
	}
	return r
}

// wasLate reports whether a message was accepted after its send time had passed.
func wasLate(m message.Message, d sendlimit.Decision) bool {
	judged := d.RequestedAt // that of a message which was shifted or moved
	if judged.IsZero() {
		judged = d.At
	}
	return d.Allowed && !m.Now && m.Window == nil && judged.Sub(m.SendAt) > policy.Grace
}

// hasExpired reports whether a message would have to be sent before now.
func (s *Submitter) hasExpired(m message.Message) bool {
	return !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(s.clock.OfUser(m.User).Now())
}

// expiresLate returns the error for an expiry that is after the latest one.
func expiresLate(at, latest time.Time) *fault.InvalidError {
	return message.NotAllowed("expires_at", at.UTC().Format(time.RFC3339Nano),
		"a time until %s, which is %d days after the latest send time", latest.Format(message.TimeLayout), expiryDays)
}

// expiryDays is sendlimit.ExpiryBeyondReach in days.
const expiryDays = int(sendlimit.ExpiryBeyondReach / calendar.DayLong)

// judgedByRules reports whether the rules of its user judged a request: its fields, id and
// time were valid.
func judgedByRules(d sendlimit.Decision) bool {
	return d.Allowed && !d.Replayed || d.Code.Shiftable() || d.Code == fault.CodeBlocked || d.Code == fault.CodeOptedOut
}

// request returns the timeline's request for a message. The error is a
// *fault.InvalidError.
func (s *Submitter) request(of resolved) (sendlimit.Request, error) {
	m := of.Message
	if err := m.Validate(); err != nil {
		return sendlimit.Request{}, err
	}
	if err := s.channels.checkNamed(m); err != nil {
		return sendlimit.Request{}, err
	}
	mark := message.Fingerprint(m)
	content, err := message.EncodeContent(m)
	if err != nil {
		return sendlimit.Request{}, err
	}
	metadata, err := message.EncodeMetadata(m.Metadata)
	if err != nil {
		return sendlimit.Request{}, err
	}
	r := sendlimit.Request{
		User: m.User, ID: m.ID, At: m.SendAt, Category: m.Category,
		// The message's own setting overrides its user's policy.
		Shift: m.Shifts(), ByPolicy: m.OnConflict == "" && !m.Now && m.Window == nil,
		WithoutFreeTimes: m.WithoutFreeTimes,
		Record: &sendlimit.Record{
			Generation: keyspace.NewToken(), Fingerprint: string(mark[:]),
			ExpiresAt: m.ExpiresAt, Category: m.Category, Content: content,
			Campaign: m.Campaign, Metadata: metadata, Local: message.EncodeLocal(of.local),
		},
		Zone: of.zone, Valid: s.campaigns.Valid(campaignOf(m)),
	}
	if r.ID == "" {
		r.ID = uuid.Must(uuid.NewV7()).String() // fails only if the system has no randomness
	}
	if m.Now {
		r.At = time.Time{}
	}
	if of.window != nil {
		r.At, r.Window, r.Record.Local = time.Time{}, windowOf(*of.window, m.ExpiresAt), message.EncodeWindow(*of.window)
	}
	if r.Shift || r.ByPolicy {
		r.ShiftUntil = s.shiftUntil(m)
	}
	return r, nil
}

// windowOf returns the window of a request. An expiry cuts it; a window that has passed by then stays
// one, for the store to refuse.
func windowOf(w message.ResolvedWindow, expires time.Time) *sendlimit.Window {
	window := &sendlimit.Window{From: w.From.Time, Until: w.Until.Time, Prefer: w.Prefer, Near: w.SendAt.Time}
	if !expires.IsZero() && expires.Before(window.Until) {
		window.Until = expires
	}
	if !window.From.Before(window.Until) {
		window.From = window.Until.Add(-time.Millisecond)
	}
	return window
}

// shiftUntil returns the last send time for a shift: the caller's or the default, and before the
// message expires.
func (s *Submitter) shiftUntil(m message.Message) time.Time {
	until := m.ShiftUntil
	if until.IsZero() {
		from := m.SendAt
		if m.Now {
			from = s.clock.OfUser(m.User).Now()
		}
		until = from.Add(message.DefaultShift)
	}
	if last := m.ExpiresAt.Add(-time.Millisecond); !m.ExpiresAt.IsZero() && last.Before(until) {
		until = last
	}
	return until
}
