package worldtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// Machine is when the machine of a stage in real time stood still.
const Machine Action = "the machine stands still"

// Real has the bounds of times on a stage in real time. Such a stage can't see each change of a
// timeline: its places are the store's final ones.
type Real struct {
	Tolerance time.Duration // of the workers
	Way       time.Duration // that a message may take from its place to the provider
	Told      time.Duration // until a message that expired is said to be dropped
	Aftermath time.Duration // for how long an outage is felt
}

func (r *Real) aftermath(a Away) time.Duration {
	if a.What == Machine {
		return 2 * time.Second
	}
	return r.Aftermath
}

// NoteAnswer adds a request and its answer.
func (s *Story) NoteAnswer(a Answer) { s.answered(a) }

// NoteRules adds a change of the rules.
func (s *Story) NoteRules(c RuleChange) { s.changed(c) }

// NoteHalted notes that a process was stopped for good.
func (s *Story) NoteHalted(process string) { s.halted(process) }

// leavesActive reports whether the queue may still have tasks in hand that nobody works on: those of
// a process that was killed, or that never learned that it has them. It only looks for them each
// minute.
func (v *verdict) leavesActive() bool {
	return v.Real != nil && (len(v.Halted) > 0 || slices.ContainsFunc(v.spans, func(a Away) bool {
		return a.What == StoreAway || a.What == StoreSlow
	}))
}

// NoteAway notes when something was away.
func (s *Story) NoteAway(a Away) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, a)
}

// promisedAtTheEnd is the last time that a message was promised for, and since when. An edit of the
// content leaves the task in the queue, so it promises nothing again.
func (k *known) promisedAtTheEnd() (promised, since time.Time) {
	for _, a := range k.asked {
		if a.Do != Edit && a.Ended.After(since) {
			since = a.Ended
		}
	}
	promised = k.standing.Promised
	if promised.IsZero() {
		promised = k.standing.SendAt
	}
	return promised, since
}

// mayBeLate reports whether something was away when a message was due, or shortly before, whether
// it was refused, or whether the queue lost it: the relay finds that after its time.
func (v *verdict) mayBeLate(k *known, due, since time.Time) bool {
	return v.refused(k.user) || v.pausedFor(k) || v.away(due.Add(-v.Real.Tolerance), due.Add(v.Real.Tolerance)) ||
		slices.ContainsFunc(v.spans, func(a Away) bool { return a.What == LoseQueue && since.Before(a.Until) })
}

// judgeTimesAtTheEnd judges when a message arrived by the place that it has in the end.
func (v *verdict) judgeTimesAtTheEnd(k *known) {
	s := k.standing
	promised, since := k.promisedAtTheEnd()
	if !v.changed(k) {
		for _, a := range k.arrivals {
			if a.At.Before(promised) || !a.SendAt.Equal(promised) {
				v.fault("early: %s arrived at %s, and was promised for %s: %+v", k, a.At, promised, a)
			}
		}
		if o := k.submitted; o.Err == nil && o.Got.Outcome == message.Accepted && !o.Got.Replayed && !promised.IsZero() && !promised.Equal(o.Got.SendAt.Time) {
			v.fault("promise: %s was accepted for %s, and the store says %s: %+v", k, o.Got.SendAt, promised, s)
		}
	}
	unwanted := s.Reason == messages.ReasonOptedOut || s.Reason == messages.ReasonBlocked || s.Reason == messages.ReasonSettings // judgeSwitchedOff knows whether it is
	if s.State == messages.StateDropped && s.Reason != messages.ReasonExpired && s.Reason != messages.ReasonNoFreeTime && !unwanted {
		v.fault("dropped: %s for no reason: %+v", k, s)
	}
	// Settings that shift a message drop it if no time is free before it expires.
	shifted := s.Reason == messages.ReasonNoFreeTime && v.shifts(k.user)
	if s.State == messages.StateDropped && !unwanted && !shifted && promised.Sub(since) > time.Second && !v.mayBeLate(k, promised, since) {
		v.fault("dropped: nothing was away, and %s: %+v, arrivals %+v", k, s, k.arrivals)
	}
	if s.State != messages.StateDelivered || len(k.arrivals) == 0 {
		return
	}
	if v.Plan.HasDevices() && s.Reason != "" && s.Reason != messages.ReasonLate {
		return // the other devices were given up, at a place at which nothing was sent
	}
	last := k.arrivals[len(k.arrivals)-1]
	sentNothing := last.Attempt < s.Attempts && v.lostDevice(k.user, "") // the device that was left had gone
	if last.At.Before(s.SendAt) && !sentNothing {
		v.fault("early: %s arrived at %s, and its place was %s: %+v, arrivals %+v", k, last.At, s.SendAt, s, k.arrivals)
	}
	if late := s.EndedAt.Sub(s.SendAt); late < 0 || late > v.Real.Tolerance {
		v.fault("late: %s went out %s after its place: %+v", k, late, s)
	}
	if way := last.At.Sub(s.EndedAt); way > v.Real.Way && !v.away(s.EndedAt, last.At) {
		v.fault("late: %s arrived %s after it went out: %+v, arrivals %+v", k, way, s, k.arrivals)
	}
	if !s.ExpiresAt.IsZero() && last.At.After(s.ExpiresAt.Add(v.Real.Tolerance)) && !v.away(s.ExpiresAt, last.At) {
		v.fault("expiry: %s expired at %s, and arrived at %s", k, s.ExpiresAt, last.At)
	}
	if promised.Sub(since) > time.Second && !v.mayBeLate(k, promised, since) && (!s.SendAt.Equal(promised) || last.Attempt > 1) {
		v.fault("late: nothing was away, and %s, promised for %s since %s, went out at %s: %+v", k, promised, since, s.SendAt, k.arrivals)
	}
}

// shifts reports whether changed settings of a user shift messages.
func (v *verdict) shifts(user string) bool {
	return slices.ContainsFunc(v.Plan.Events, func(e Event) bool { return e.Then == policy.ThenShift && e.User == user })
}

// changed reports whether somebody asked to change a message, or to change it with others.
func (v *verdict) changed(k *known) bool {
	return slices.ContainsFunc(k.asked, func(a Answer) bool { return a.Do == Change || a.Do == Put || a.Do == Cancel }) ||
		v.shifts(k.user) || slices.ContainsFunc(v.Plan.Events, func(e Event) bool {
		return e.Do == MoveCampaign && e.Campaign == k.submitted.Event.Campaign || e.Do == Refit || e.Do == RetryDead
	})
}

// judgePlacesAtTheEnd requires that the places of all that was sent, as the store has them, break
// no rule.
func (v *verdict) judgePlacesAtTheEnd(m *sendlimittest.Model) {
	exempt := func(category string) bool { // it takes a place that is not free
		return category == CategoryCodes && slices.ContainsFunc(v.Plan.Policies, func(r Rules) bool { return r.Codes })
	}
	sent := make(map[string][]*known) // by user
	for _, k := range v.sorted() {
		if k.standing.State == messages.StateDelivered || k.standing.State == messages.StateUncertain {
			sent[k.user] = append(sent[k.user], k)
		}
	}
	for user, all := range sent {
		for _, k := range all {
			var others []sendlimittest.Placed
			for _, o := range all {
				if o != k && !exempt(v.categoryOf(o)) {
					others = append(others, sendlimittest.Placed{ID: o.id, Category: v.categoryOf(o), At: o.standing.SendAt})
				}
			}
			own := sendlimittest.Placed{ID: k.id, Category: v.categoryOf(k), At: k.standing.SendAt}
			if d := m.Fits(user, others, own, sendlimit.Share{}, v.Began); d.Code == fault.CodeSendLimit || d.Code == fault.CodeQuietHours {
				v.fault("rules: %s was sent at %s, which was not free: %+v", k, k.standing.SendAt, d)
			}
		}
	}
}

// noWaitBefore is how long before its expiry a late message waits for no older one.
const noWaitBefore = 5 * time.Second

// judgeOrderAtTheEnd requires that late messages of a class went out in the order in which they
// were promised, unless one failed, or was about to expire, or was moved.
func (v *verdict) judgeOrderAtTheEnd() {
	if v.channelAway() {
		return
	}
	of := make(map[name][]*known) // by user and class
	for _, k := range v.sorted() {
		s := k.standing
		promised, _ := k.promisedAtTheEnd()
		category := v.categoryOf(k)
		if s.State != messages.StateDelivered || v.refused(k.user) || s.Attempts > 1 || len(k.arrivals) != 1 || v.changed(k) || s.SendAt.Equal(promised) || category == CategoryCodes {
			continue
		}
		if !s.ExpiresAt.IsZero() && !s.SendAt.Before(s.ExpiresAt.Add(-noWaitBefore)) {
			continue
		}
		class := name{user: k.user}
		if category == CategoryNews || category == CategoryOffers {
			class.id = category
		}
		of[class] = append(of[class], k)
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b *known) int {
			promisedA, _ := a.promisedAtTheEnd()
			promisedB, _ := b.promisedAtTheEnd()
			return cmp.Or(promisedA.Compare(promisedB), cmp.Compare(a.id, b.id))
		})
		for i := 1; i < len(list); i++ {
			younger, older := list[i], list[i-1]
			first := older.firstLatePlace()
			if !younger.standing.SendAt.Before(older.standing.SendAt) ||
				younger.firstLatePlace().After(first) && v.away(first.Add(-v.Real.Tolerance), older.standing.SendAt) {
				continue // it had a place before, and the queue had it in hand when the store was away
			}
			v.fault("order: %s went out before %s: %+v, %+v", younger, older, younger.standing, older.standing)
		}
	}
}

// Spans lists the outages so far.
func (s *Story) Spans() []Away {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spans)
}

// firstLatePlace is the place that a late message got first.
func (k *known) firstLatePlace() time.Time {
	for _, c := range k.standing.History {
		if c.What == messages.ChangePostponed {
			return c.SendAt
		}
	}
	return k.standing.SendAt
}
