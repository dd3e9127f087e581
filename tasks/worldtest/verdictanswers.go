package worldtest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// judgeTitles requires that an arrival has the title of the last edit confirmed before, of an edit
// without an answer yet, or of one with a lost answer and a failed retry.
func (v *verdict) judgeTitles(k *known) {
	edits := slices.DeleteFunc(slices.Clone(k.asked), func(a Answer) bool {
		// While the store is down, the client library repeats commands without a reply.
		return a.Title == "" || a.Err == nil && !a.Unclear && !made(a) && !v.away(a.Began, a.Ended)
	})
	for _, arrival := range k.arrivals {
		last := Answer{}
		for _, e := range edits {
			if e.Err == nil && made(e) && !e.Ended.After(arrival.At) && e.Ended.After(last.Ended) {
				last = e
			}
		}
		may := []string{cmp.Or(last.Title, FirstTitle)}
		for _, e := range edits {
			inFlight := e.Err != nil || !made(e) || e.Ended.After(arrival.At) || !last.Ended.IsZero() && e.Ended.After(last.Began)
			if inFlight && !e.Began.After(arrival.At) {
				may = append(may, e.Title)
			}
		}
		if !slices.Contains(may, arrival.Title) {
			v.fault("edits: %s arrived at %s as %q, and may only have %q", k, arrival.At, arrival.Title, may)
		}
	}
}

// made reports whether a change was made.
func made(a Answer) bool {
	return a.Got.Outcome == message.Moved || a.Got.Outcome == message.Changed || a.Got.Outcome == message.Replaced
}

// finds reports whether an answer is about the message itself: a put may find none to replace.
func finds(a Answer) bool {
	return a.Do == Submit || a.Do == DryRun || a.Do == Put && a.Got.Code != fault.CodeVersionMismatch && a.Got.Code != fault.CodeTooLate
}

// settingsOf returns a user's settings during a span; false if they changed in it, or shortly before, or
// if the last two changes were made at the same time.
func (v *verdict) settingsOf(user string, from, until time.Time) (policy.UserSettings, bool) {
	var last RuleChange
	var before time.Time // when the others ended
	for _, c := range v.changes {
		switch {
		case c.User != user:
		case c.Began.Before(until) && c.Ended.Add(time.Second).After(from):
			return last.Settings, false
		case c.Ended.Before(from) && !c.Ended.Before(last.Ended):
			last, before = c, last.Ended
		case c.Ended.Before(from) && c.Ended.After(before):
			before = c.Ended
		}
	}
	return last.Settings, !before.After(last.Began)
}

// judgeSettings requires that new messages to blocked users and of unwanted categories are refused,
// and no others for these reasons.
func (v *verdict) judgeSettings() {
	for _, a := range v.answers {
		asks := finds(a)
		settings, ok := v.settingsOf(a.User, a.Began, a.Ended)
		if !asks || !ok || a.Err != nil || a.Got.Replayed || a.Got.Outcome == message.Invalid || a.Got.Code == fault.CodeCampaignEnded {
			continue // the end of a campaign comes before settings
		}
		code := fault.Code("")
		switch {
		case settings.Blocked:
			code = fault.CodeBlocked
		case optedOut(settings, a.Message.Category):
			code = fault.CodeOptedOut
		}
		refused := a.Got.Code == fault.CodeBlocked || a.Got.Code == fault.CodeOptedOut
		unclear := a.Message.Category == CategoryCodes && slices.Contains(settings.OptOut, policy.AllCategories)
		if !unclear && (code != "" && a.Got.Code != code || code == "" && refused) {
			v.fault("settings: %s of a user with %+v is answered %+v", a.Event, settings, a.Got)
		}
		until := settings.DoNotDisturbUntil.Add(-v.Ahead[a.User])
		disturbs := a.Got.Submitted() && a.Message.Category != CategoryCodes && a.Got.SendAt.Before(until)
		if disturbs || a.Got.Code == fault.CodeDoNotDisturb && !a.first().Before(until) && !a.Began.Before(until) {
			v.fault("settings: %s of a user who is not disturbed until %s is answered %+v", a.Event, until, a.Got)
		}
	}
}

// judgeReserved requires that a category is refused if all policies reserve it for other accounts,
// and accepted if none does.
func (v *verdict) judgeReserved() {
	for _, a := range v.answers {
		if a.Err != nil || a.Got.Replayed || !finds(a) {
			continue
		}
		admitted, reserved := false, false
		for _, c := range v.changes {
			for _, p := range c.Policies {
				admits := p.Categories[a.Message.Category].Admits(a.Message.Account)
				admitted, reserved = admitted || admits, reserved || !admits
			}
		}
		if a.Got.Submitted() && !admitted || a.Got.Code == fault.CodeCategoryReserved && !reserved {
			v.fault("settings: %s by the account %q is answered %+v", a.Event, a.Message.Account, a.Got)
		}
	}
}

// optedOut reports whether settings refuse a category. The category of codes may be exempt.
func optedOut(s policy.UserSettings, category string) bool {
	return category != CategoryCodes && policy.Policy{}.OptedOut(s, category)
}

// judgeSwitchedOff requires that nothing arrives at a user who is blocked or not disturbed, nor of an
// unwanted category, and that messages are dropped for these reasons only if they hold.
func (v *verdict) judgeSwitchedOff(k *known) {
	if len(k.arrivals) > 0 {
		at := k.arrivals[0].At
		s, ok := v.settingsOf(k.user, at.Add(-v.Lease), at)
		disturbed := v.categoryOf(k) != CategoryCodes && at.Add(v.Ahead[k.user]).Before(s.DoNotDisturbUntil)
		category := v.categoryOf(k)
		if !v.Plan.Has(Categories) {
			category = ""
		}
		place, _ := k.placeAt(at)
		quiet := v.categoryOf(k) != CategoryCodes && s.Then != policy.ThenKeep && s.QuietHours.Contains(in(s.TimeZone, place))
		if ok && (s.Blocked || optedOut(s, category) || disturbed || quiet) {
			v.fault("settings: %s arrived at %s, though its user has %+v", k, at, s)
		}
	}
	if s := k.standing; s.State == messages.StateDropped {
		had, ok := v.settingsOf(k.user, s.EndedAt, s.EndedAt.Add(time.Millisecond)) // a change that drops does so at once
		if ok && (s.Reason == messages.ReasonOptedOut && len(had.OptOut) == 0 || s.Reason == messages.ReasonBlocked && !had.Blocked) {
			v.fault("settings: %s was dropped at %s, though its user wants it: %+v", k, s.EndedAt, s)
		}
	}
}

// judgeAnswers compares answers with each other.
func (v *verdict) judgeAnswers() {
	for _, a := range v.answers {
		ended := a.Got.Code == fault.CodeCampaignEnded || a.Dry != nil && a.Dry.Code == fault.CodeCampaignEnded
		if a.Err != nil || a.Do == Erase || ended { // see judgeEnded
			continue
		}
		passed := a.Ended.After(a.Began) && !a.first().After(a.Ended) // and a submit that is late is judged at its own time
		if a.Dry != nil && a.Alone && !passed && (a.Dry.Outcome != a.Got.Outcome || a.Dry.Code != a.Got.Code || !a.Dry.SendAt.Equal(a.Got.SendAt.Time)) {
			v.fault("dry run: %s/%s: it said %+v, and the submit was answered %+v", a.User, a.Event.ID, *a.Dry, a.Got)
		}
		if a.Free && a.Alone && a.Got.Outcome != message.Accepted {
			v.fault("free time: %s/%s at %s, which a refusal had named, is answered %s: %s; the refusal was %s", a.User, a.Event.ID, a.Message.SendAt,
				a.Got.Code, a.Got.Detail, v.known[name{a.User, strings.TrimSuffix(a.ID, "f")}].submitted.Got.Detail)
		}
		last := a.first().Add(message.DefaultShift)
		if !a.Message.ShiftUntil.IsZero() {
			last = a.Message.ShiftUntil
		}
		if expires := v.known[name{a.User, a.ID}].submitted.Message.ExpiresAt; !expires.IsZero() && expires.Before(last) {
			last = expires.Add(-time.Millisecond)
		}
		if a.Shift && a.Got.Outcome == message.Refused && !a.Got.NextFreeAt.IsZero() && !a.Got.NextFreeAt.After(last) {
			v.fault("shift: %s %s/%s was refused, though %s is free: %+v", a.Do, a.User, a.Event.ID, a.Got.NextFreeAt, a.Got)
		}
		v.judgeLateSubmit(a)
		v.judgeWindow(a)
		expired := !a.Message.ExpiresAt.IsZero() && a.Ended.After(a.Message.ExpiresAt)
		if a.Got.Outcome == message.Invalid && a.Got.Code != fault.CodeCategoryReserved && !expired && (a.Got.Code != fault.CodeInPast || a.Ended.Before(a.last())) && (a.Do != Change || a.Got.Field != "send_at") {
			v.fault("answer: %s is invalid: %+v", a.Event, a.Got)
		}
	}
}

// judgeLateSubmit requires that a message whose send time has passed is sent now if it or its user's
// policy says so, and else refused.
func (v *verdict) judgeLateSubmit(a Answer) {
	if a.Do != Submit && a.Do != DryRun || a.Unclear || a.Got.Replayed || a.Message.Now || a.Message.Window != nil || a.Keeps || v.Plan.Has(Clock) {
		return
	}
	var may []time.Duration // how late it may be
	for _, c := range v.changes {
		for _, p := range c.Policies {
			may = append(may, p.Late)
		}
	}
	if a.Message.Late != "" {
		own, err := policy.ParseLate(a.Message.Late)
		if err != nil {
			v.fault("late submit: %v", err)
			return
		}
		may = []time.Duration{own}
	}
	const slack = time.Second // of the clocks
	least, most := a.Began.Sub(a.Message.SendAt)-slack, a.Ended.Sub(a.Message.SendAt)+slack
	accepted := a.Got.Outcome == message.Accepted
	switch {
	case accepted && least > max(slices.Max(may), policy.Grace):
		v.fault("late submit: %s may be late by %s, and is accepted: %+v", a.Event, may, a.Got)
	case a.Got.Code == fault.CodeInPast && (most <= slices.Min(may) || most <= 0):
		v.fault("late submit: %s may be late by %s, and is refused: %+v", a.Event, may, a.Got)
	case accepted && least > policy.Grace && (!a.Got.Late || !a.Got.RequestedAt.Equal(a.Message.SendAt) || a.Got.SendAt.Before(a.Began.Add(-slack))):
		v.fault("late submit: %s was late, and is answered %+v", a.Event, a.Got)
	}
}

// first and last are the times between which a message was asked for. A local time is that of
// awayZone, which is earlier.
func (a Answer) first() time.Time {
	switch {
	case a.Message.Window != nil:
		return a.Message.Window.From
	case a.Keeps:
		return a.Message.SendAt.Add(-earlier)
	default:
		return a.Message.SendAt
	}
}

func (a Answer) last() time.Time {
	if a.Message.Window != nil {
		return a.Message.Window.Until
	}
	return a.first()
}

// judgeWindow requires that a message gets a time in its window, or is refused if none is free there.
func (v *verdict) judgeWindow(a Answer) {
	if a.Message.Window == nil || a.Unclear || a.Got.Replayed || v.Plan.Has(Clock) {
		return
	}
	within := func(t time.Time) bool {
		return !t.IsZero() && !t.Before(a.first()) && t.Before(a.last()) && (a.Message.ExpiresAt.IsZero() || t.Before(a.Message.ExpiresAt))
	}
	switch {
	case a.Got.Outcome == message.Accepted && !within(a.Got.SendAt.Time):
		v.fault("window: %s got a time outside: %+v", a.Event, a.Got)
	case a.Got.Outcome == message.Refused && (within(a.Got.NextFreeAt.Time) || within(a.Got.PreviousFreeAt.Time)):
		v.fault("window: %s was refused, though a time in it is free: %+v", a.Event, a.Got)
	}
}
