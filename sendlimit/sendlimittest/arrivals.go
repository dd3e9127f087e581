package sendlimittest

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Arrival is a message that a user received.
type Arrival struct {
	ID, Category string
	At           time.Time
}

// ArrivalFaults judges the real times at which a user received messages, without knowing their
// places. Each may have arrived up to late after its place. It lists the arrivals that break a rule
// or quiet hours for all possible places. It ignores exempt messages and dated changes of a policy.
func (m *Model) ArrivalFaults(user string, late time.Duration, arrivals []Arrival) []string {
	g := m.regime(user)
	var faults []string
	var all timeline
	for _, a := range arrivals {
		if g.exempt[a.Category] {
			continue
		}
		at := cut(a.At)
		all = all.add(entry{at: at, id: a.ID, category: a.Category})
		if q := g.termsOf(a.Category).quiet; q.covers(at) && q.stretchAt(at).contains(at-late.Milliseconds()) {
			faults = append(faults, fmt.Sprintf("%s received %s at %s, in quiet hours", user, a.ID, moment(at)))
		}
	}
	rules := slices.Clone(g.overall.rules)
	for _, name := range slices.Sorted(maps.Keys(g.categories)) {
		for _, r := range g.categories[name].rules {
			if r.category != "" {
				rules = append(rules, r)
			}
		}
	}
	for _, r := range rules {
		faults = append(faults, r.arrivalFaults(user, late.Milliseconds(), r.counts(all))...)
	}
	return faults
}

// arrivalFaults lists the arrivals that exceed the limit of a window, even if the first one was late
// and the last one on time.
func (r rule) arrivalFaults(user string, late int64, tl timeline) []string {
	var faults []string
	for i := range max(0, len(tl)-r.Limit) {
		first, last := tl[i], tl[i+r.Limit]
		window := span{first.at - late, first.at - late + r.Window.Milliseconds()}
		if r.Calendar() {
			window = periodAt(r.Period, r.zone, first.at-late)
		}
		if window.contains(last.at) {
			faults = append(faults, fmt.Sprintf("%s received %d from %s at %s to %s at %s: more than %s %s",
				user, r.Limit+1, first.id, moment(first.at), last.id, moment(last.at), r.Rule, r.category))
		}
	}
	return faults
}
