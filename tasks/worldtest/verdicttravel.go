package worldtest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// judgeFollowing requires that a message which keeps its local time is sent as it is read in its user's
// zone, at that time unless it is not free there.
func (v *verdict) judgeFollowing(tb testing.TB, k *known) {
	tb.Helper()
	a, ok := k.first()
	if !ok || !k.submitted.Keeps || k.submitted.Err != nil || v.movedByOthers(k) {
		return
	}
	own, ok := v.settingsOf(k.user, a.At.Add(-v.Lease), a.At)
	if _, gone := v.erased[k.user]; !ok || gone {
		return
	}
	read := message.DecodeLocal(k.standing.Local)
	if read == nil || read.Zone != cmp.Or(own.TimeZone, homeZone) || read.OwnZone() != own.TimeZone {
		v.fault("zone: %s arrived at %s, read as %+v, and its user has %+v", k, a.At, read, own)
		return
	}
	if promised, _ := k.promisedPlace(a.At); !promised.Equal(k.localTime(own)) {
		v.judgeKept(tb, k, a, own, promised)
	}
}

// localTime is the time of a message that keeps its local time, for a user with these settings.
func (k *known) localTime(own policy.UserSettings) time.Time {
	at := k.submitted.Message.SendAt
	if own.TimeZone == awayZone {
		return at.Add(-earlier)
	}
	return at
}

// movedByOthers reports whether somebody asked for another time than the local one, or may have.
func (v *verdict) movedByOthers(k *known) bool {
	return v.Plan.Has(PolicyChanges) || v.Plan.Has(Clock) || slices.ContainsFunc(k.asked, func(a Answer) bool {
		return a.Do == Change || a.Do == Put || a.Do == Cancel
	}) || slices.ContainsFunc(k.placements, func(p Placement) bool { return p.By == "message/revive" }) ||
		slices.ContainsFunc(v.Plan.Events, func(e Event) bool {
			return e.Do == MoveCampaign && e.Campaign == k.submitted.Event.Campaign
		})
}

// judgeKept requires that a message which was not sent at its local time could not be.
func (v *verdict) judgeKept(tb testing.TB, k *known, a Arrival, own policy.UserSettings, promised time.Time) {
	tb.Helper()
	var changes []RuleChange
	for _, c := range v.changes {
		if c.User == k.user && c.Began.Before(a.At) {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b RuleChange) int { return a.Ended.Compare(b.Ended) })
	changed := RuleChange{Began: k.submitted.Began, Ended: k.submitted.Ended} // the last of its zone
	before := ""
	for _, c := range changes {
		if c.Settings.Then == policy.ThenShift && c.Settings.TimeZone == before {
			return // it may have moved for another reason
		}
		if c.Settings.TimeZone != before && c.Ended.After(k.submitted.Began) {
			changed = c
		}
		before = c.Settings.TimeZone
	}
	want, until := k.localTime(own), changed.Ended.Add(2*time.Minute)
	charged := v.accountOf(k) != "" || v.categoryOf(k) == CategoryOffers // there may be nothing left
	expired := !k.standing.ExpiresAt.IsZero() && !want.Before(k.standing.ExpiresAt)
	if charged || expired || until.After(want) || v.away(changed.Began, until) {
		return
	}
	if v.isFreeThroughout(tb, k, want, changed.Began, until) {
		v.fault("zone: %s arrived at %s, promised for %s, and its local time %s was free: %+v, %+v", k, a.At, promised, want, own, k.placements)
	}
}

// isFreeThroughout reports whether a time was free for a message during a span.
func (v *verdict) isFreeThroughout(tb testing.TB, k *known, want, from, until time.Time) bool {
	tb.Helper()
	all := v.regimes(tb)
	places := make(map[string]time.Time)
	isFree := func(at time.Time) bool {
		own := sendlimittest.Placed{ID: k.id, Category: v.categoryOf(k), At: want.Add(v.Ahead[k.user])}
		for _, m := range all.at(at) {
			if d := m.Fits(k.user, v.others(k.user, k.id, places, at), own, sendlimit.Share{}, at.Add(v.Ahead[k.user])); !d.Allowed {
				return false
			}
		}
		return true
	}
	begun := false
	for _, p := range v.placements {
		if p.User != k.user {
			continue
		}
		if p.At.After(until) {
			break
		}
		if !begun && p.At.After(from) {
			if begun = true; !isFree(from) {
				return false
			}
		}
		if p.To.IsZero() {
			delete(places, p.ID)
		} else {
			places[p.ID] = p.To
		}
		if begun && !isFree(p.At) {
			return false
		}
	}
	return begun || isFree(from)
}
