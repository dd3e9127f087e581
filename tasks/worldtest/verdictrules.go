package worldtest

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// rulesAge is how long a process may use rules after they were replaced.
const rulesAge = 3 * time.Second

// regimes are the models of successive rules.
type regimes struct {
	changes []RuleChange
	models  []*sendlimittest.Model
}

func (v *verdict) regimes(tb testing.TB) regimes {
	tb.Helper()
	var r regimes
	settings := make(map[string]policy.UserSettings)
	changes := slices.Clone(v.changes)
	slices.SortStableFunc(changes, func(a, b RuleChange) int { return a.Ended.Compare(b.Ended) })
	for _, c := range changes {
		if c.User != "" {
			settings[c.User] = c.Settings
		}
		m, err := sendlimittest.NewModel(c.Policies[0], policy.DefaultReach)
		require.NoError(tb, err)
		require.NoError(tb, m.Follow(c.Policies...))
		for user, own := range settings {
			require.NoError(tb, m.Set(user, own))
		}
		if v.Plan.PlacesPerDay > 0 {
			require.NoError(tb, m.BoundPlaces(v.Plan.PlacesPerDay))
		}
		r.changes, r.models = append(r.changes, c), append(r.models, m)
	}
	return r
}

// at returns the models that a process may use at a time.
func (r regimes) at(at time.Time) []*sendlimittest.Model {
	var list []*sendlimittest.Model
	for i, m := range r.models {
		begins := !r.changes[i].Began.After(at)
		ends := i+1 < len(r.models) && r.changes[i+1].Ended.Add(rulesAge).Before(at)
		if begins && !ends {
			list = append(list, m)
		}
	}
	return list
}

// judgePlaces replays the places in the order of the calls, and requires that each was free by the
// rules of its time. Sent messages count even if the store has forgotten them. A late message
// without its new place does not.
func (v *verdict) judgePlaces(tb testing.TB) {
	tb.Helper()
	all := v.regimes(tb)
	if v.Real != nil {
		if v.Plan.Has(PolicyChanges) {
			return // it does not show by which rules a place was taken
		}
		v.judgePlacesAtTheEnd(all.models[len(all.models)-1])
		return
	}
	places := make(map[string]map[string]time.Time) // by user and id
	for first := 0; first < len(v.placements); {
		last := first
		for last < len(v.placements) && v.placements[last].Call == v.placements[first].Call {
			last++
		}
		call := slices.Clone(v.placements[first:last])
		first = last
		slices.SortFunc(call, func(a, b Placement) int {
			return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(v.mayBeExempt(a), v.mayBeExempt(b)), a.To.Compare(b.To), cmp.Compare(a.ID, b.ID))
		})
		for _, p := range call {
			if places[p.User] == nil {
				places[p.User] = make(map[string]time.Time)
			}
			if !p.To.IsZero() || !v.arrivedBefore(p) {
				delete(places[p.User], p.ID)
			}
			if erased := v.erased[p.User]; len(erased) > 0 && !p.At.After(erased[len(erased)-1]) && p.To.IsZero() {
				delete(places[p.User], p.ID)
			}
		}
		for _, p := range call {
			if p.To.IsZero() {
				continue
			}
			v.judgePlace(p, places[p.User], all.at(p.At))
			places[p.User][p.ID] = p.To
		}
	}
}

// mayBeExempt returns 1 for a place that may be exempt from the rules, else 0. Another place of the
// same call may have been judged before it was taken.
func (v *verdict) mayBeExempt(p Placement) int {
	if v.categoryOf(v.known[name{p.User, p.ID}]) == CategoryCodes {
		return 1
	}
	return 0
}

// judgePlace judges a new place among others.
func (v *verdict) judgePlace(p Placement, places map[string]time.Time, models []*sendlimittest.Model) {
	if p.By == "place/record_sent" {
		return
	}
	others, ahead := v.others(p.User, p.ID, places, p.At), v.Ahead[p.User]
	k := v.known[name{p.User, p.ID}]
	own := sendlimittest.Placed{ID: p.ID, Category: v.categoryOf(k), At: p.To.Add(ahead)}
	var share sendlimit.Share
	if p.By == "place/reserve" || p.By == "place/move" {
		share = v.Plan.share(v.accountOf(k))
	}
	var why []sendlimit.Violation
	for _, m := range models {
		d := m.Fits(p.User, others, own, share, p.At.Add(ahead))
		full := d.Code == fault.CodeTooManyPlaces || d.Code == fault.CodeAccountPlaces
		if d.Code != fault.CodeSendLimit && d.Code != fault.CodeQuietHours && d.Code != fault.CodeDoNotDisturb && (!full || p.By == "message/claim") {
			return
		}
		why = d.Violations
	}
	v.fault("rules: %s got %s at %s by %s, which was not free: %+v", k, p.To, p.At, p.By, why)
}

// others returns the places of a user that count at a time, but for that of one message.
func (v *verdict) others(user, id string, places map[string]time.Time, now time.Time) (others []sendlimittest.Placed) {
	ahead := v.Ahead[user] // calendars and quiet hours are those of the master's clock
	for other, at := range places {
		k := v.known[name{user, other}]
		late := at.Before(now.Add(-sendlimit.DefaultTolerance))
		if other == id || late && !arrivedBy(k, now) && !v.inHand(k, now) {
			continue
		}
		others = append(others, sendlimittest.Placed{ID: other, Category: v.categoryOf(k), Account: v.accountOf(k), At: at.Add(ahead)})
	}
	return others
}

func (v *verdict) categoryOf(k *known) string {
	return cmp.Or(k.submitted.Message.Category, k.standing.Category)
}

// accountOf returns the account of a message; "" for none.
func (v *verdict) accountOf(k *known) string {
	return cmp.Or(k.submitted.Message.Account, k.standing.Account)
}

// arrivedBy reports whether a recipient had received a message by a time.
func arrivedBy(k *known, at time.Time) bool {
	a, ok := k.first()
	return ok && !a.At.After(at)
}

func (v *verdict) arrivedBefore(p Placement) bool {
	return arrivedBy(v.known[name{p.User, p.ID}], p.At)
}

// inHand reports whether a message was tried with an unknown outcome.
func (v *verdict) inHand(k *known, at time.Time) bool {
	return k.standing.Uncertain && k.standing.State == messages.StateUncertain && len(k.arrivals) > 0 && !k.arrivals[0].At.After(at)
}

// judgeRealTimes requires that the real times of each recipient's messages break no rule and no
// quiet hours, within the tolerance. If rules changed, a window counts with its highest limit, and
// only if all rules had it. Messages before an erasure of the user don't count for later ones.
func (v *verdict) judgeRealTimes(tb testing.TB) {
	tb.Helper()
	got := make(map[string]map[string][]sendlimittest.Arrival) // by user and recipient
	for _, k := range v.sorted() {
		had := make(map[string]bool)
		for _, a := range k.arrivals {
			if !a.Taken || had[a.Recipient()] { // a second copy of what nobody could know of
				continue
			}
			had[a.Recipient()] = true
			v.judgeRest(k, a)
			if got[k.user] == nil {
				got[k.user] = make(map[string][]sendlimittest.Arrival)
			}
			got[k.user][a.Recipient()] = append(got[k.user][a.Recipient()], sendlimittest.Arrival{ID: a.ID, Category: a.Category, At: a.At.Add(v.Ahead[k.user])})
		}
	}
	loosest := v.loosest(tb)
	if loosest == nil {
		return
	}
	slack := sendlimit.DefaultTolerance
	if v.Real != nil {
		slack = v.Real.Tolerance + v.Real.Way
	}
	if v.Plan.Has(StoreFaults) {
		slack += 2 * time.Second
	}
	for user, of := range got {
		for recipient, arrivals := range of {
			slices.SortFunc(arrivals, func(a, b sendlimittest.Arrival) int { return a.At.Compare(b.At) })
			for _, some := range v.betweenErasures(user, arrivals) {
				for _, f := range loosest.ArrivalFaults(user, slack, some) {
					v.fault("real times: %s: %s", recipient, f)
				}
			}
		}
	}
}

// betweenErasures splits the ordered arrivals of a user at each erasure of the user.
func (v *verdict) betweenErasures(user string, arrivals []sendlimittest.Arrival) (parts [][]sendlimittest.Arrival) {
	for _, erased := range v.erased[user] {
		k := 0
		for k < len(arrivals) && !arrivals[k].At.After(erased.Add(v.Ahead[user])) {
			k++
		}
		parts = append(parts, arrivals[:k])
		arrivals = arrivals[k:]
	}
	return append(parts, arrivals)
}

// judgeRest requires that a message which reaches a recipient later than others does not arrive
// after a message sent meanwhile. If no process knew of its first arrival, it is late for all.
func (v *verdict) judgeRest(k *known, a Arrival) {
	first, _ := k.first()
	if !first.Told || v.Halted[first.Process] || a.At.Sub(first.At) <= sendlimit.DefaultTolerance || a.Category == CategoryCodes || v.Plan.Has(Clock) {
		return
	}
	for _, other := range v.known {
		later, ok := other.first()
		if !ok || other.user != k.user || later.Category == CategoryCodes || later.At.Sub(first.At) <= 2*sendlimit.DefaultTolerance {
			continue
		}
		for _, b := range other.arrivals {
			if b.Taken && b.Recipient() == a.Recipient() && b.At.Before(a.At) {
				v.fault("order: %s arrived at %s at %s, after %s, which was sent later, at %s", k, a.Recipient(), a.At, other, b.At)
			}
		}
	}
}

// loosest returns a model with the windows that all rules had, each with its highest limit; nil if
// there is none.
func (v *verdict) loosest(tb testing.TB) *sendlimittest.Model {
	tb.Helper()
	if len(v.Plan.Policies[0].Dated) > 0 {
		return nil // the places are judged by them
	}
	p := v.changes[0].Policies[0]
	if len(v.changes) > 1 {
		var common []policy.Rule
		for _, r := range p.Rules {
			in := true
			for _, c := range v.changes {
				for _, other := range c.Policies {
					i := slices.IndexFunc(other.Rules, r.SameWindow)
					if in = in && i >= 0 && len(other.Changes) == 0 && other.TimeZone == p.TimeZone; in {
						r.Limit = max(r.Limit, other.Rules[i].Limit)
					}
				}
			}
			if in {
				common = append(common, r)
			}
		}
		if len(common) == 0 {
			return nil
		}
		p.Rules, p.QuietHours, p.Changes = common, policy.WeekHours{}, nil
		exempt := make(map[string]policy.CategoryRules)
		for _, c := range v.changes {
			for _, other := range c.Policies {
				if other.Categories[CategoryCodes].Exempt {
					exempt[CategoryCodes] = policy.CategoryRules{Exempt: true}
				}
			}
		}
		p.Categories = exempt
	}
	if strings.Contains(p.TimeZone, "/") && len(v.changes) > 1 {
		p.Rules = slices.DeleteFunc(p.Rules, policy.Rule.Calendar)
		if len(p.Rules) == 0 {
			return nil
		}
	}
	m, err := sendlimittest.NewModel(p, policy.DefaultReach)
	require.NoError(tb, err)
	return m
}
