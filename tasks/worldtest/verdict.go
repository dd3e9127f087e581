package worldtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// name names a message.
type name struct{ user, id string }

func (n name) String() string { return n.user + "/" + n.id }

// known is what a story says of one message.
type known struct {
	name

	submitted  Answer // the last answer to its submit
	accepted   bool
	perhaps    bool // it may have been accepted
	cancelled  bool // somebody was told that it is cancelled
	asked      []Answer
	standing   messages.Standing // as the store has it in the end
	arrivals   []Arrival         // by time
	placements []Placement
}

// verdict judges a story.
type verdict struct {
	*Story

	keys   keyspace.Keys
	known  map[name]*known
	dead   map[string]bool      // processes that were stopped
	erased map[string]time.Time // users, and when
	faults []string
	open   bool // some messages are due after the end
}

// Judge lists the promises that a story breaks. It reads the store where the story ended.
func Judge(tb testing.TB, s *Story) []string {
	tb.Helper()
	keys, err := keyspace.NewKeys("")
	require.NoError(tb, err)
	v := &verdict{Story: s, keys: keys, known: make(map[name]*known), erased: make(map[string]time.Time)}
	v.gather(tb)
	v.judgeAnswers()
	v.judgeSettings()
	v.judgePace()
	for _, k := range v.sorted() {
		v.judgeEnd(k)
		v.judgeArrivals(k)
		v.judgeTimes(k)
		v.judgeTitles(k)
		v.judgeOptOut(k)
	}
	v.judgePlaces(tb)
	v.judgeRealTimes(tb)
	v.judgeOrder()
	v.judgeCharges(tb)
	v.judgeMails(tb)
	v.judgeEvents(tb)
	v.judgeStore(tb)
	return v.faults
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// gather puts together what is known of each message.
func (v *verdict) gather(tb testing.TB) {
	tb.Helper()
	of := func(user, id string) *known {
		n := name{user, id}
		if v.known[n] == nil {
			v.known[n] = &known{name: n}
		}
		return v.known[n]
	}
	for _, a := range v.answers {
		if a.Do == Erase {
			v.erased[a.User] = a.Ended
			continue
		}
		k := of(a.User, a.Event.ID)
		k.asked = append(k.asked, a)
		switch {
		case a.Do == Submit || a.Do == Rehearse:
			k.submitted = a
			k.accepted = k.accepted || a.Err == nil && a.Got.Outcome == message.Accepted
			k.perhaps = k.perhaps || a.Err != nil
		case a.Do == Cancel && a.Err == nil && a.Got.Outcome == message.Cancelled:
			k.cancelled = true
		}
	}
	for _, a := range v.Arrivals {
		k := of(a.User, a.ID)
		k.arrivals = append(k.arrivals, a)
	}
	for _, p := range v.placements {
		k := of(p.User, p.ID)
		k.placements = append(k.placements, p)
	}
	records, err := messages.NewRecords(v.Client, "")
	require.NoError(tb, err)
	for n, k := range v.known {
		found, err := records.Trace(tb.Context(), n.user, n.id)
		require.NoError(tb, err)
		k.standing = found[0]
	}
	v.dead = v.Halted
}

func (v *verdict) sorted() []*known {
	return slices.SortedFunc(maps.Values(v.known), func(a, b *known) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.id, b.id))
	})
}

// judgeAnswers holds answers against each other.
func (v *verdict) judgeAnswers() {
	for _, a := range v.answers {
		if a.Err != nil || a.Do == Erase {
			continue
		}
		if a.Dry != nil && a.Alone && (a.Dry.Outcome != a.Got.Outcome || a.Dry.Code != a.Got.Code || !a.Dry.SendAt.Equal(a.Got.SendAt.Time)) {
			v.fault("dry run: %s/%s: it said %+v, and the submit was answered %+v", a.User, a.Event.ID, *a.Dry, a.Got)
		}
		charged := a.Got.Code == fault.CodeQuotaExceeded || a.Got.Code == fault.CodeThrottled
		knowsQuota := !charged || v.Plan.Has(HourlyQuotas) // see Held
		if a.Free && a.Alone && a.Got.Outcome != message.Accepted && knowsQuota {
			v.fault("free time: %s/%s at %s, which a refusal had named, is answered %s: %s; the refusal was %s", a.User, a.Event.ID, a.Message.SendAt,
				a.Got.Code, a.Got.Detail, v.known[name{a.User, strings.TrimSuffix(a.ID, "f")}].submitted.Got.Detail)
		}
		last := a.Message.SendAt.Add(message.DefaultShift)
		if !a.Message.ShiftUntil.IsZero() {
			last = a.Message.ShiftUntil
		}
		if expires := v.known[name{a.User, a.ID}].submitted.Message.ExpiresAt; !expires.IsZero() && expires.Before(last) {
			last = expires.Add(-time.Millisecond)
		}
		dated := !v.Plan.Has(ShiftsIntoDates) && v.crossesDates(Placement{At: a.Message.SendAt, To: a.Got.NextFreeAt.Time}) // see Held
		if a.Shift && a.Got.Outcome == message.Refused && !a.Got.NextFreeAt.IsZero() && !a.Got.NextFreeAt.After(last) && !dated {
			v.fault("shift: %s %s/%s was refused, though %s is free: %+v", a.Do, a.User, a.Event.ID, a.Got.NextFreeAt, a.Got)
		}
		expired := !a.Message.ExpiresAt.IsZero() && a.Ended.After(a.Message.ExpiresAt)
		if a.Got.Outcome == message.Invalid && !expired && (a.Got.Code != fault.CodeInPast || a.Ended.Before(a.Message.SendAt)) && (a.Do != Change || a.Got.Field != "send_at") {
			v.fault("answer: %s is invalid: %+v", a.Event, a.Got)
		}
	}
}

// judgeEnd judges how a message ended: what was accepted is delivered or told.
func (v *verdict) judgeEnd(k *known) {
	s := k.standing
	taken, told := 0, 0
	for _, a := range k.arrivals {
		if a.Taken {
			taken++
			if a.Told && !v.dead[a.Process] {
				told++
			}
		}
	}
	_, gone := v.erased[k.user]
	switch s.State {
	case messages.StatePending, messages.StateSending:
		if s.SendAt.After(v.Ended) {
			v.open = true
			break
		}
		v.fault("end: %s has not ended: %+v", k, s)
	case messages.StateUnknown:
		if k.accepted && !gone {
			v.fault("lost: %s was accepted, and there is no record", k)
		}
	case messages.StateDelivered:
		if taken == 0 {
			v.fault("end: %s is delivered, and arrived nowhere: %+v", k, s)
		}
	case messages.StateCancelled, messages.StateDropped, messages.StateFailed:
		if told > 0 {
			v.fault("end: %s arrived, and is %s: %+v", k, s.State, s)
		} else if taken > 0 && s.State != messages.StateCancelled {
			v.fault("end: %s may have arrived, and is %s: %+v", k, s.State, s)
		}
	case messages.StateUncertain:
		if taken > 0 && told == taken && len(k.arrivals) == taken {
			v.fault("end: %s arrived, all said so, and it is uncertain: %+v", k, s)
		}
	}
	if !k.accepted && !k.perhaps && (s.State != messages.StateUnknown || taken > 0) {
		v.fault("end: %s was refused, and is %s, arrived %d times", k, s.State, taken)
	}
	if k.cancelled && taken > 0 && !v.sentBeforeCancel(k) {
		v.fault("cancel: %s arrived after its cancel was confirmed", k)
	}
	if s.State == messages.StateDropped && s.Reason == messages.ReasonExpired {
		v.judgeExpiry(k)
	}
}

func (v *verdict) sentBeforeCancel(k *known) bool {
	for _, a := range k.asked {
		if a.Do == Cancel && a.Err == nil && a.Got.Outcome == message.Cancelled {
			return !k.arrivals[len(k.arrivals)-1].At.After(a.Ended)
		}
	}
	return true
}

// toldWithin is how long after its expiry a message that can't be sent is said to be dropped.
const toldWithin = 5 * time.Minute

// judgeExpiry requires that a message that expired is told at its expiry, not later.
func (v *verdict) judgeExpiry(k *known) {
	s := k.standing
	expires := s.ExpiresAt
	if expires.IsZero() {
		promised := s.Promised
		if promised.IsZero() {
			promised = s.SendAt
		}
		expires = promised.Add(cmp.Or(v.ExpireAfter, sendlimit.DefaultExpireAfter))
	}
	if s.EndedAt.Before(expires) {
		v.fault("expiry: %s was dropped as expired before its time, %s: %+v", k, expires, s)
	}
	within := toldWithin
	if v.Real != nil {
		within = v.Real.Told
	}
	knownOf := !v.Plan.Has(LongRetries) && v.away(expires, s.EndedAt)
	if s.EndedAt.After(expires.Add(within)) && !knownOf {
		v.fault("expiry: %s expired at %s, and was only dropped at %s: %+v", k, expires, s.EndedAt, s)
	}
}

// away reports whether something was away at some time of a stretch, or shortly before.
func (v *verdict) away(from, until time.Time) bool {
	return slices.ContainsFunc(v.spans, func(a Away) bool {
		return a.What != PauseCampaign && a.From.Before(until) && a.Until.Add(v.aftermath(a)).After(from)
	})
}

// aftermath is for how long an outage is felt: leases end, retries come, the relay finds what was
// lost.
func (v *verdict) aftermath(a Away) time.Duration {
	if v.Real != nil {
		return v.Real.aftermath(a)
	}
	if a.What == LoseQueue || a.What == StopWorker || a.What == LoseReply || a.What == StopCaller {
		return 3 * time.Minute
	}
	return v.Lease + 2*time.Minute
}

// judgeArrivals judges how often each recipient got a message: once, and again only if nobody
// could know of a former time.
func (v *verdict) judgeArrivals(k *known) {
	taken, unknown := make(map[string]int), make(map[string]int)
	for _, a := range k.arrivals {
		if a.Taken {
			taken[a.Recipient()]++
			if !a.Told || v.dead[a.Process] {
				unknown[a.Recipient()]++
			}
		}
	}
	for recipient, times := range taken {
		if times > max(1, 1+unknown[recipient]) || times > 1 && v.Plan.Skip && !v.Plan.Has(Operators) {
			v.fault("twice: %s took %s %d times, %d of which nobody could know: %+v", recipient, k, times, unknown[recipient], k.arrivals)
		}
	}
	if _, gone := v.erased[k.user]; gone || k.standing.State != messages.StateDelivered || k.standing.Reason != "" && k.standing.Reason != messages.ReasonLate {
		return
	}
	for _, u := range v.Plan.Users {
		if u.Name != k.user || len(v.Plan.Users[0].Devices) == 0 && len(u.Devices) == 0 {
			continue
		}
		for _, device := range u.Devices {
			if taken[device] == 0 && !v.lostDevice(k.user, device) && !rejected(k, device) {
				v.fault("devices: %s is delivered, and did not arrive at %s: %+v", k, device, k.standing)
			}
		}
	}
}

func (v *verdict) lostDevice(user, device string) bool {
	return slices.ContainsFunc(v.Plan.Events, func(e Event) bool { return e.Do == LoseDevice && e.User == user && e.Name == device })
}

// rejected reports whether a message was tried on a device, and not taken.
func rejected(k *known, device string) bool {
	return slices.ContainsFunc(k.arrivals, func(a Arrival) bool { return a.Device == device && !a.Taken })
}

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
	if late := a.At.Sub(place); late > sendlimit.DefaultTolerance && !v.slowAt(a.At) {
		v.fault("late: %s arrived %s after its place, %s: %+v, places %+v", k, late, place, k.standing, k.placements)
	}
	if s := k.standing; !s.ExpiresAt.IsZero() && a.At.After(s.ExpiresAt.Add(sendlimit.DefaultTolerance)) {
		v.fault("expiry: %s expired at %s, and arrived at %s", k, s.ExpiresAt, a.At)
	}
	promised, since := k.promisedPlace()
	calm := v.Plan.Pace == "" && !v.away(promised.Add(-v.Plan.Horizon-time.Minute), a.At) && !v.away(since, since.Add(time.Second)) && !v.pausedFor(k)
	if calm && promised.Sub(since) > v.prompt() && (!a.At.Truncate(time.Second).Equal(promised.Truncate(time.Second)) && a.At.Sub(promised) > sendlimit.DefaultTolerance || a.Attempt > 1) {
		v.fault("late: nothing was away, and %s, promised for %s since %s, arrived at %s at attempt %d", k, promised, since, a.At, a.Attempt)
	}
}

// promisedPlace returns the last place that a caller or an operator gave a message, and when.
func (k *known) promisedPlace() (place, since time.Time) {
	for _, p := range k.placements {
		if !p.To.IsZero() && p.By != "message/claim" {
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
		if !ok || len(k.arrivals) == 0 || k.arrivals[0].Attempt > 1 || a.Attempt > 1 || k.standing.Attempts > 1 {
			continue
		}
		promised, _ := k.promisedPlace()
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

// channelAway reports whether messages waited for a channel, which does not keep them in order.
func (v *verdict) channelAway() bool {
	return slices.ContainsFunc(v.Plan.Events, func(e Event) bool {
		return e.Do == Channel && (e.Behaviour == SlowsDown || e.Behaviour == RefusesAll)
	})
}
