package integration_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// outagesWay is how long the way from the gate to the provider may take.
const outagesWay = time.Second

// outagesOutcome is what became of an accepted message.
type outagesOutcome struct {
	promise

	status  message.Status
	claimed time.Time   // when its last delivery began
	taken   []time.Time // by the provider
	tries   []providerTry
}

// late reports whether the message went out at another time than promised.
func (m outagesOutcome) late() bool { return !m.status.SendAt.Equal(m.at) }

// judge requires what holds of every story.
func (o *outages) judge(users map[string]userState) {
	o.Helper()
	faults := o.workerFaults()
	counts, delivered := make(map[string]int), 0
	var everything []outagesOutcome
	model, err := sendlimittest.NewModel(o.policy, policy.DefaultReach)
	require.NoError(o, err)
	for user, u := range users {
		require.NoError(o, model.Set(user, o.settings[user]))
		faults = append(faults, u.faults(o.T)...)
		var all []outagesOutcome
		for id := range u.records {
			m := o.outcome(messageName{user, id})
			counts[m.status.Status+" "+m.status.Reason]++
			if m.status.Status == message.StatusDelivered {
				delivered++
			}
			if m.late() {
				counts["at another time"]++
			}
			if o.mayBeLate(m.promise) {
				counts["may be late"]++
			}
			for _, fault := range o.messageFaults(m) {
				faults = append(faults, fmt.Sprintf("%s/%s: %s: promised for %s, %+v, taken %s, tried %v",
					user, id, fault, clock(m.at), m.status, clock(m.taken...), m.tries))
			}
			all = append(all, m)
		}
		faults = append(faults, o.listFaults(user, all)...)
		faults = append(faults, o.ruleFaults(model, user, all)...)
		faults = append(faults, o.usageFaults(model, user, all)...)
		faults = append(faults, o.orderFaults(all)...)
		everything = append(everything, all...)
	}
	faults = append(faults, o.countFaults(everything)...)
	for name := range o.accepted {
		if users[name.user].records[name.id] == nil {
			faults = append(faults, fmt.Sprintf("%v: lost", name))
		}
	}
	for name := range o.provider.tries {
		if _, ok := o.accepted[name]; !ok {
			faults = append(faults, fmt.Sprintf("%v: sent, and never accepted", name))
		}
	}
	slices.Sort(faults)
	o.Logf("%s\n%d accepted, %v, %s", o.plan, len(o.accepted), counts, time.Since(o.began).Round(time.Second))
	require.Empty(o, faults)
	// The rules leave each user a few messages, and an outage lets some of them expire.
	require.Greater(o, len(o.accepted), 2*outagesUsers)
	require.Greater(o, delivered, len(o.accepted)/4)
}

// outcome reads what callers and the provider were told of a message.
func (o *outages) outcome(name messageName) outagesOutcome {
	o.Helper()
	status, ok, err := o.Status(o.Context(), name.user, name.id)
	require.NoError(o, err)
	require.True(o, ok, "%v", name)
	return outagesOutcome{
		promise: o.accepted[name], status: status, claimed: status.DeliveredAt.Time,
		taken: o.provider.taken[name], tries: o.provider.tries[name],
	}
}

// messageFaults judges what became of a message.
func (o *outages) messageFaults(m outagesOutcome) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch m.status.Status {
	case message.StatusDelivered:
		o.deliveryFaults(m, fault)
	case message.StatusDropped:
		o.dropFaults(m, fault)
	case message.StatusUncertain: // it may have arrived, and it has no time any more
		if !o.inDoubt(m) {
			fault("nobody can doubt it")
		}
	default:
		fault("lost")
	}
	if promised := m.status.PromisedAt.Time; !promised.IsZero() && !promised.Equal(m.at) {
		fault("another time was promised")
	}
	for _, try := range m.tries {
		if try.at.Before(m.at) {
			fault("sent early")
		}
		if sendAt, err := time.Parse(time.RFC3339, try.sendAt); err != nil || !sendAt.Equal(m.at) {
			fault("the provider was told another time")
		}
	}
	if len(m.taken) > 1 && (!m.status.Uncertain || !o.aWorkerEnded(m.taken[0], m.taken[len(m.taken)-1])) {
		fault("sent twice")
	}
	return faults
}

func (o *outages) deliveryFaults(m outagesOutcome, fault func(format string, args ...any)) {
	if len(m.taken) == 0 {
		fault("never arrived")
		return
	}
	arrived, place := m.taken[len(m.taken)-1], m.status.SendAt.Time
	if arrived.Before(place) {
		fault("arrived before its place")
	}
	if late := m.claimed.Sub(place); late < 0 || late > outagesTolerance {
		fault("claimed %s after its place", late)
	}
	if way := arrived.Sub(m.claimed); way > outagesWay && !o.isAway(m.claimed) {
		fault("%s from the gate to the provider", way)
	}
	if !m.ExpiresAt.IsZero() && !m.claimed.Before(m.ExpiresAt) {
		fault("sent after its expiry")
	}
	if !o.mayBeLate(m.promise) && (m.late() || m.status.Attempts > 1) {
		fault("not on time, and nothing was away")
	}
}

// dropFaults judges a message that was dropped: it was late or expired, and it did not
// arrive.
func (o *outages) dropFaults(m outagesOutcome, fault func(format string, args ...any)) {
	expires := m.ExpiresAt
	if expires.IsZero() {
		expires = m.at.Add(sendlimit.DefaultExpireAfter)
	}
	ended := m.status.EndedAt.Time
	switch {
	case len(m.taken) > 0:
		fault("arrived")
	case m.status.Reason == messages.ReasonExpired && ended.Before(expires):
		fault("dropped before its expiry")
	case m.status.Reason == messages.ReasonNoFreeTime && !ended.After(m.at.Add(outagesTolerance)):
		fault("dropped on time")
	case m.status.Reason != messages.ReasonExpired && m.status.Reason != messages.ReasonNoFreeTime:
		fault("dropped for no reason")
	case !o.mayBeLate(m.promise):
		fault("dropped, and nothing was away")
	}
	for _, told := range m.expiredFaults() {
		fault("%s", told)
	}
}

// inDoubt reports whether a message may have arrived without an answer to its worker.
func (o *outages) inDoubt(m outagesOutcome) bool {
	return slices.ContainsFunc(m.tries, func(try providerTry) bool {
		return try.answer == hangsUp || try.answer == resets || o.aWorkerEnded(try.at, try.at.Add(outagesLease))
	})
}

// aWorkerEnded reports whether a worker ended between two times.
func (o *outages) aWorkerEnded(from, until time.Time) bool {
	return slices.ContainsFunc(o.workers, func(w *outagesWorker) bool {
		return slices.ContainsFunc(w.lives, func(l *workerLife) bool { return l.at.After(from) && l.at.Before(until) })
	})
}

// workerFaults lists workers that ended by themselves although Redis was there.
func (o *outages) workerFaults() (faults []string) {
	for _, w := range o.workers {
		for _, l := range w.lives {
			redisAway := slices.ContainsFunc(o.away, func(a awaySpan) bool {
				return a.what == storeAway && l.at.After(a.from) && l.at.Before(a.until.Add(a.aftermath()))
			})
			if !l.asked && !redisAway {
				faults = append(faults, "a worker ended:\n"+l.said.String())
			}
		}
	}
	return faults
}

// listFaults compares a user's list with the statuses: it has what was dropped, too.
func (o *outages) listFaults(user string, all []outagesOutcome) (faults []string) {
	o.Helper()
	listed, err := o.List(o.Context(), sendlimit.ListRequest{User: user, From: o.began, To: o.began.Add(time.Hour)})
	require.NoError(o, err)
	for _, m := range all {
		same := func(s message.Status) bool {
			return s.ID == m.ID && s.Status == m.status.Status && s.Reason == m.status.Reason
		}
		if !slices.ContainsFunc(listed, same) {
			faults = append(faults, fmt.Sprintf("%s/%s: not listed as %s", user, m.ID, m.status.Status))
		}
	}
	return faults
}

// ruleFaults judges a user's messages by the model: their places, which count to the
// millisecond, and the times at which the provider had them.
func (o *outages) ruleFaults(model *sendlimittest.Model, user string, all []outagesOutcome) (faults []string) {
	o.Helper()
	slices.SortFunc(all, func(a, b outagesOutcome) int {
		return cmp.Or(a.status.SendAt.Compare(b.status.SendAt.Time), cmp.Compare(a.ID, b.ID))
	})
	var arrivals []sendlimittest.Arrival
	for _, m := range all {
		if m.status.Status == message.StatusDropped {
			continue
		}
		d := model.Reserve(sendlimit.Request{User: user, ID: m.ID, Category: m.Category, At: m.status.SendAt.Time, Now: o.began})
		if !d.Allowed {
			faults = append(faults, fmt.Sprintf("%s/%s at %s breaks a rule: %+v", user, m.ID, clock(m.status.SendAt.Time), d))
		}
		if len(m.taken) > 0 {
			arrivals = append(arrivals, sendlimittest.Arrival{ID: m.ID, Category: m.Category, At: m.taken[len(m.taken)-1]})
		}
	}
	return append(faults, model.ArrivalFaults(user, outagesTolerance+outagesWay, arrivals)...)
}

// noWaitBefore is how long before its expiry a late message waits for no older one.
const noWaitBefore = 5 * time.Second

// orderFaults requires that late messages of a class arrived in the order in which they
// were promised. One that failed holds up no younger one until its retry. One that is
// about to expire does not wait for an older one.
func (o *outages) orderFaults(all []outagesOutcome) (faults []string) {
	slices.SortFunc(all, func(a, b outagesOutcome) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.ID, b.ID)) })
	for i, younger := range all {
		for _, older := range all[:i] {
			expires := !younger.ExpiresAt.IsZero() && !younger.claimed.Before(younger.ExpiresAt.Add(-noWaitBefore))
			if !older.waited() || !younger.waited() || expires || o.classOf(older.promise) != o.classOf(younger.promise) {
				continue
			}
			if younger.taken[0].Before(older.taken[0]) {
				faults = append(faults, fmt.Sprintf("%s: %s, promised for %s, arrived at %s, and %s, promised for %s, at %s",
					younger.User, younger.ID, clock(younger.at), clock(younger.taken...), older.ID, clock(older.at), clock(older.taken...)))
			}
		}
	}
	return faults
}

// waited reports whether the message was late and went out at its first try.
func (m outagesOutcome) waited() bool {
	return m.status.Status == message.StatusDelivered && m.late() && m.status.Attempts == 1 && len(m.taken) > 0
}

// classOf returns the class of a message: its category, if that has rules of its own.
func (o *outages) classOf(p promise) string {
	if _, own := o.policy.Categories[p.Category]; own {
		return p.Category
	}
	return ""
}

// clock spells times of a story.
func clock(times ...time.Time) string {
	words := make([]string, len(times))
	for i, at := range times {
		words[i] = at.UTC().Format("15:04:05.000")
	}
	return strings.Join(words, ", ")
}
