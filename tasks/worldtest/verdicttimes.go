package worldtest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// placeAt returns where a message stood at a time, and since when; zero if it had no place.
func (k *known) placeAt(at time.Time) (place, since time.Time) {
	for _, p := range k.placements {
		if p.At.After(at) {
			break
		}
		if !p.To.IsZero() { // a place that is forgotten was the message's all the same
			place, since = p.To, p.At
		}
	}
	return place, since
}

// first returns the first arrival that was taken.
func (k *known) first() (Arrival, bool) {
	i := slices.IndexFunc(k.arrivals, func(a Arrival) bool { return a.Taken })
	if i < 0 {
		return Arrival{}, false
	}
	return k.arrivals[i], true
}

// prompt is how long before its time a message has to be submitted to be on time whatever else
// happens: workers ask the queue only so often.
func (v *verdict) prompt() time.Duration { return v.Polling + 5*time.Second }

// judgeTimes judges when a message arrived: not before its place, and not later than the
// tolerance after it. It only leaves its promised time where something was away.
func (v *verdict) judgeTimes(k *known) {
	if v.Real != nil {
		v.judgeTimesAtTheEnd(k)
		return
	}
	for _, a := range k.arrivals {
		if place, _ := k.placeAt(a.At); !place.IsZero() && a.At.Before(place) {
			v.fault("early: %s arrived at %s, and its place was %s", k, a.At, place)
		}
	}
	a, ok := k.first()
	if !ok {
		return
	}
	place, _ := k.placeAt(a.At)
	if place.IsZero() {
		return
	}
	// The gate counts in whole milliseconds.
	if late := a.At.Truncate(time.Millisecond).Sub(place); late > sendlimit.DefaultTolerance && !v.slowAt(a.At) {
		v.fault("late: %s arrived %s after its place, %s: %+v, places %+v", k, late, place, k.standing, k.placements)
	}
	if s := k.standing; !s.ExpiresAt.IsZero() && a.At.After(s.ExpiresAt.Add(sendlimit.DefaultTolerance)) {
		v.fault("expiry: %s expired at %s, and arrived at %s", k, s.ExpiresAt, a.At)
	}
	promised, since := k.promisedPlace(a.At)
	calm := v.Plan.Pace == "" && !v.away(promised.Add(-v.Plan.Horizon-time.Minute), a.At) && !v.away(since, since.Add(time.Second)) && !v.pausedFor(k) && !v.refused(k.user) && !v.heldOff(k.user, promised, a.At)
	if calm && promised.Sub(since) <= v.prompt() {
		v.judgePromptness(k, a, since)
	}
	if calm && promised.Sub(since) > v.prompt() && (!a.At.Truncate(time.Second).Equal(promised.Truncate(time.Second)) && a.At.Sub(promised) > sendlimit.DefaultTolerance || a.Attempt > 1) {
		v.fault("late: nothing was away, and %s, promised for %s since %s, arrived at %s at attempt %d", k, promised, since, a.At, a.Attempt)
	}
}

// heldOff reports whether a user was not to be disturbed at a time, by a setting before another time.
func (v *verdict) heldOff(user string, at, before time.Time) bool {
	return slices.ContainsFunc(v.changes, func(c RuleChange) bool {
		own := c.Settings
		return c.User == user && c.Began.Before(before) && (at.Add(v.Ahead[user]).Before(own.DoNotDisturbUntil) || own.QuietHours.Contains(in(own.TimeZone, at)))
	})
}

// judgePromptness judges the arrival of a message that became due before workers could know of it.
// The record of an erased message no longer has the cause of its delay.
func (v *verdict) judgePromptness(k *known, a Arrival, since time.Time) {
	s := k.standing
	inTheWay := s.InTheWay != (policy.Rule{}) || s.InQuietHours || s.DoNotDisturb
	if s.State == messages.StateDelivered && !inTheWay && a.At.Sub(since) > 2*v.prompt() {
		v.fault("late: nothing was away or in the way, and %s, due soon since %s, arrived at %s: %+v", k, since, a.At, s)
	}
}

// promisedPlace returns the last place that a caller or an operator gave a message before a time,
// and when. A dead letter that is sent after all gets another one.
func (k *known) promisedPlace(before time.Time) (place, since time.Time) {
	for _, p := range k.placements {
		if !p.To.IsZero() && !p.At.After(before) && p.By != "message/claim" {
			place, since = p.To, p.At
		}
	}
	return place, since
}

// pausedFor reports whether the campaign of a message was paused at any time.
func (v *verdict) pausedFor(k *known) bool {
	return slices.ContainsFunc(v.Plan.Events, func(e Event) bool {
		return e.Do == PauseCampaign && e.Campaign == k.submitted.Event.Campaign && e.Campaign != ""
	})
}

func (v *verdict) slowAt(at time.Time) bool {
	return slices.ContainsFunc(v.spans, func(a Away) bool {
		return (a.What == StoreSlow || a.What == StoreAway) && !at.Before(a.From) && at.Before(a.Until.Add(v.Lease))
	})
}

// judgeOrder requires that late messages of a class go out in the order in which they were
// promised, unless one failed and waited for its retry, or for a channel.
func (v *verdict) judgeOrder() {
	if v.Plan.Has(PolicyChanges) || v.Plan.Has(ShorterWindows) || v.Plan.Has(Campaigns) || v.Plan.Has(DatedChanges) {
		return // a place that is judged by other rules may come before
	}
	if v.Real != nil {
		v.judgeOrderAtTheEnd()
		return
	}
	type late struct {
		*known

		promised, place time.Time
	}
	of := make(map[string][]late)
	for _, k := range v.sorted() {
		a, ok := k.first()
		if !ok || v.refused(k.user) || len(k.arrivals) == 0 || k.arrivals[0].Attempt > 1 || a.Attempt > 1 || k.standing.Attempts > 1 {
			continue
		}
		promised, _ := k.promisedPlace(a.At)
		place, _ := k.placeAt(a.At)
		if place.IsZero() || place.Equal(promised) || a.Category == CategoryCodes {
			continue
		}
		class := ""
		if (a.Category == CategoryNews || a.Category == CategoryOffers) && v.Plan.Has(Categories) || a.Category == CategoryOffers {
			class = a.Category
		}
		of[k.user+" "+class] = append(of[k.user+" "+class], late{k, promised, place})
	}
	if v.channelAway() {
		return
	}
	for _, class := range slices.Sorted(maps.Keys(of)) {
		list := of[class]
		slices.SortStableFunc(list, func(a, b late) int { return cmp.Or(a.promised.Compare(b.promised), cmp.Compare(a.id, b.id)) })
		for i := 1; i < len(list); i++ {
			if list[i].place.Before(list[i-1].place) {
				v.fault("order: %s, promised for %s, went out at %s, before %s: promised for %s, at %s",
					list[i].known, list[i].promised, list[i].place, list[i-1].known, list[i-1].promised, list[i-1].place)
			}
		}
	}
}

// refused reports whether a user's messages are refused for a while.
func (v *verdict) refused(user string) bool {
	return slices.ContainsFunc(v.Plan.Events, func(e Event) bool { return e.Do == RefuseUser && e.User == user })
}

// channelAway reports whether messages waited for a channel, which does not keep them in order.
func (v *verdict) channelAway() bool {
	return slices.ContainsFunc(v.Plan.Events, func(e Event) bool {
		return e.Do == Channel && (e.Behaviour == SlowsDown || e.Behaviour == RefusesAll)
	})
}

// judgeSilences requires that no call begins 2 seconds after all sending was stopped.
func (v *verdict) judgeSilences() {
	for _, silent := range v.silences {
		for _, a := range v.Arrivals {
			if a.At.After(silent.From.Add(2*time.Second)) && a.At.Before(silent.Until) && !v.slowAt(a.At) {
				v.fault("silence: %s/%s arrived at %s, and all sending was stopped from %s to %s", a.User, a.ID, a.At, silent.From, silent.Until)
			}
		}
	}
}

// judgePace requires that no more pushes begin in an interval than the pace of all of them allows.
func (v *verdict) judgePace() {
	if v.Plan.Pace == "" || v.Plan.Has(Clock) { // permits are given by the store's clock
		return
	}
	pace, err := rate.Parse(v.Plan.Pace)
	if err != nil {
		v.fault("pace: %v", err)
		return
	}
	var messages []Arrival // a message at several devices is one push
	for _, a := range v.Arrivals {
		if !slices.ContainsFunc(messages, func(b Arrival) bool { return a.User == b.User && a.ID == b.ID && a.Attempt == b.Attempt }) {
			messages = append(messages, a)
		}
	}
	slices.SortFunc(messages, func(a, b Arrival) int { return a.At.Compare(b.At) })
	for i := int(pace.Count); i < len(messages); i++ {
		first, last := messages[i-int(pace.Count)], messages[i]
		if last.At.Sub(first.At) < pace.Interval-forgets-sendlimit.DefaultTolerance {
			v.fault("pace: %d pushes from %s to %s, and the pace is %s", pace.Count+1, first.At, last.At, pace)
		}
	}
}
