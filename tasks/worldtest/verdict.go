package worldtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// name names a message.
type name struct{ user, id string }

func (n name) String() string { return n.user + "/" + n.id }

// known has a story's facts about one message.
type known struct {
	name

	submitted  Answer // the last answer to its submit
	accepted   bool
	perhaps    bool // it may have been accepted
	cancelled  bool // somebody was told that it is cancelled
	asked      []Answer
	standing   messages.Info // as the store has it in the end
	arrivals   []Arrival     // by time
	placements []Placement
}

// verdict judges a story.
type verdict struct {
	*Story

	keys   keyspace.Keys
	known  map[name]*known
	erased map[string][]time.Time // users, and when
	faults []string
	open   bool // some messages are due after the end
}

// Judge lists the promises that a story breaks. It reads the store where the story ended.
func Judge(tb testing.TB, s *Story) []string {
	tb.Helper()
	keys, err := keyspace.NewKeys("")
	require.NoError(tb, err)
	v := &verdict{Story: s, keys: keys, known: make(map[name]*known), erased: make(map[string][]time.Time)}
	v.gather(tb)
	v.judgeAnswers()
	v.judgeSettings()
	v.judgeEnded()
	v.judgeReserved()
	v.judgePace()
	v.judgeSilences()
	for _, k := range v.sorted() {
		v.judgeEnd(k)
		v.judgeArrivals(k)
		v.judgeTimes(k)
		v.judgeTitles(k)
		v.judgeSwitchedOff(k)
		v.judgeFollowing(tb, k)
	}
	v.judgePlaces(tb)
	v.judgeRealTimes(tb)
	v.judgeOrder()
	v.judgeCharges(tb)
	v.judgeMails(tb)
	v.judgeEvents(tb)
	v.judgeDevices(tb)
	v.judgePhones(tb)
	v.judgeStore(tb)
	return v.faults
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// gather collects the facts about each message.
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
			v.erased[a.User] = append(v.erased[a.User], a.Ended)
			continue
		}
		k := of(a.User, a.Event.ID)
		k.asked = append(k.asked, a)
		switch {
		case a.Do == Submit || a.Do == DryRun:
			k.submitted = a
			k.accepted = k.accepted || a.Err == nil && a.Got.Outcome == message.Accepted
			// A repeated submit that comes too late is invalid, and one that comes after a put finds another
			// message, whatever the first one's outcome.
			k.perhaps = k.perhaps || a.Err != nil || a.Unclear && (a.Got.Outcome == message.Invalid || a.Got.Code == fault.CodeIDReused)
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
	records := messages.NewRecords(v.Client, keyspace.KeysUnder(""))
	for n, k := range v.known {
		found, err := records.Trace(tb.Context(), n.user, n.id)
		require.NoError(tb, err)
		k.standing = found[0]
		shift(-v.Ahead[n.user], &k.standing.SendAt, &k.standing.Promised, &k.standing.ExpiresAt, &k.standing.EndedAt)
	}
}

func (v *verdict) sorted() []*known {
	return slices.SortedFunc(maps.Values(v.known), func(a, b *known) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.id, b.id))
	})
}

// judgeEnd requires that an accepted message is delivered, or its failure reported.
func (v *verdict) judgeEnd(k *known) {
	s := k.standing
	taken, told := 0, 0
	for _, a := range k.arrivals {
		if a.Taken {
			taken++
			if a.Told && !v.Halted[a.Process] {
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
		v.fault("end: %s was refused, and is %s, arrived %d times: %+v", k, s.State, taken, k.submitted.Got)
	}
	if k.cancelled && taken > 0 && !v.sentBeforeCancel(k) && !k.submittedAgain() {
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

// submittedAgain reports whether a submit without an answer may have been repeated after a cancel of
// the message. The cancel frees its id, so the repetition is another message.
func (k *known) submittedAgain() bool {
	return k.submitted.Unclear && slices.ContainsFunc(k.asked, func(a Answer) bool {
		return a.Do == Cancel && a.Err == nil && a.Got.Outcome == message.Cancelled && a.Began.Before(k.submitted.Ended)
	})
}

// toldWithin is how long after its expiry an unsent message must be reported as dropped.
const toldWithin = 5 * time.Minute

// judgeExpiry requires that an expired message is reported at its expiry, not later.
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
	waits := v.Plan.Has(LongRetries) || v.Plan.Has(LongPauses) // for a channel: that is no excuse, nor is a stop of all sending
	knownOf := slices.ContainsFunc(v.spans, func(a Away) bool {
		return !(waits && a.What == Channel) && a.What != StopSending && v.isFelt(a, expires, s.EndedAt)
	})
	if s.EndedAt.After(expires.Add(within)) && !knownOf && !v.refused(k.user) {
		v.fault("expiry: %s expired at %s, and was only dropped at %s: %+v", k, expires, s.EndedAt, s)
	}
}

// away reports whether there was an outage during a span, or shortly before.
func (v *verdict) away(from, until time.Time) bool {
	return slices.ContainsFunc(v.spans, func(a Away) bool { return v.isFelt(a, from, until) })
}

// isFelt reports whether an outage has an effect during a span.
func (v *verdict) isFelt(a Away, from, until time.Time) bool {
	return a.What != PauseCampaign && a.From.Before(until) && a.Until.Add(v.aftermath(a)).After(from)
}

// aftermath is how long an outage has effects: leases expire, retries come, the relay finds lost
// messages.
func (v *verdict) aftermath(a Away) time.Duration {
	if v.Real != nil {
		return v.Real.aftermath(a)
	}
	if a.What == LoseQueue || a.What == StopWorker || a.What == LoseReply || a.What == StopCaller {
		return 3 * time.Minute
	}
	return v.Lease + 2*time.Minute
}

// judgeArrivals requires that each recipient gets a message once, and again only if no process
// could know of an earlier arrival.
func (v *verdict) judgeArrivals(k *known) {
	taken, unknown := make(map[string]int), make(map[string]int)
	for _, a := range k.arrivals {
		if a.Taken {
			taken[a.Recipient()]++
			if !a.Told || v.Halted[a.Process] {
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
			if taken[device] == 0 && !v.lostDevice(k.user, device) && !rejected(k, device) && !inDoubt(k, device) {
				v.fault("devices: %s is delivered, and did not arrive at %s: %+v", k, device, k.standing)
			}
		}
	}
}

// lostDevice reports whether a device of a user goes, or any for "".
func (v *verdict) lostDevice(user, device string) bool {
	return slices.ContainsFunc(v.Plan.Events, func(e Event) bool {
		return e.Do == LoseDevice && e.User == user && (device == "" || e.Name == device)
	})
}

// inDoubt reports whether it is told that a message may not have reached a device.
func inDoubt(k *known, device string) bool {
	return slices.Contains(k.standing.Progress, messages.DeviceDone{Device: device, State: messages.DeviceUncertain})
}

// rejected reports whether a device's channel refused a message.
func rejected(k *known, device string) bool {
	return slices.ContainsFunc(k.arrivals, func(a Arrival) bool { return a.Device == device && !a.Taken })
}
