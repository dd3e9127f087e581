package integration_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// settle waits until everything has ended, and compares the arrivals and the store with
// what the callers were told.
func (l *load) settle(within time.Duration) {
	l.Helper()
	ids := make(map[string][]string)
	l.mu.Lock()
	for name := range l.messages {
		ids[name.user] = append(ids[name.user], name.id)
	}
	l.mu.Unlock()
	store := newCrashStore(l.T, l.server.Client(), "")
	var users []userState
	open := 0
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		users, open = nil, 0
		for user, of := range ids {
			u := store.state(l.T, user, of)
			users = append(users, u)
			open += u.pending() + len(u.watched)
		}
		if open == 0 || time.Now().After(end) {
			break
		}
	}
	var faults []string
	for _, u := range users {
		faults = append(faults, u.faults(l.T)...)
		if rest := u.unended(); rest != "" {
			faults = append(faults, rest)
		}
		faults = append(faults, l.ruleFaults(u)...)
		faults = append(faults, l.recordFaults(u)...)
	}
	faults = append(faults, l.deliveryFaults()...)
	slices.Sort(faults)
	require.Empty(l, faults)
}

// recordFaults compares how a user's messages ended with what their callers were told.
func (l *load) recordFaults(u userState) []string {
	l.Helper()
	var found []string
	for id, record := range u.records {
		known := l.messages[messageName{u.user, id}]
		var right bool
		switch record["s"] {
		case stateDelivered:
			late := u.number(l.T, id, "e") - u.number(l.T, id, "t")
			right = !known.cancelled && late >= 0 && late <= sendlimit.DefaultTolerance.Milliseconds()
		case stateCancelled:
			right = known.cancelled || known.doubt
		}
		if !right {
			found = append(found, fmt.Sprintf("%s/%s: ended %q, told %+v", u.user, id, record, *known))
		}
	}
	return found
}

// deliveryFaults compares the arrivals with what was told: every message arrives once,
// or more often only if the provider did not answer.
func (l *load) deliveryFaults() []string {
	l.Helper()
	arrivals := make(map[messageName][]time.Time)
	for _, r := range l.receiver.Requests() {
		p, err := r.Payload()
		require.NoError(l, err)
		require.Equal(l, p.ID, p.Title, "content of another message")
		name := messageName{p.User, p.ID}
		arrivals[name] = append(arrivals[name], r.Arrived)
	}
	var found []string
	counts := make(map[string]int)
	for name, known := range l.messages {
		unsure := l.unsure[name]
		least, most := 1, 1+unsure
		switch {
		case known.cancelled:
			least, most = 0, unsure
			counts["cancelled"]++
		case known.doubt:
			least = 0
			counts["in doubt"]++
		case !known.accepted:
			least, most = 0, 0
			counts["refused"]++
		default:
			counts["accepted"]++
		}
		of := arrivals[name]
		if len(of) < least || len(of) > most {
			found = append(found, fmt.Sprintf("%+v: arrived %v, %d to %d times are right, told %+v", name, of, least, most, *known))
		}
		if len(of) > 1 {
			counts["more than once"]++
		}
		places := known.places
		if unsure > 0 {
			places = known.ever // it may have arrived before a move
		}
		earliest := slices.MinFunc(places, time.Time.Compare)
		for _, at := range of {
			if at.Before(earliest) {
				found = append(found, fmt.Sprintf("%+v: early at %s: told %+v", name, at, *known))
			}
		}
		delete(arrivals, name)
	}
	for name, of := range arrivals {
		found = append(found, fmt.Sprintf("%+v: nobody asked for it: %v", name, of))
	}
	l.Logf("%v, %d calls asked again, %d of which had been done, %d deliveries without an answer",
		counts, l.again, l.replayed, sum(l.unsure))
	return found
}

func sum(counts map[messageName]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

// ruleFaults judges by the policy the recorded send times of everything that was
// delivered, or may have been.
func (l *load) ruleFaults(u userState) []string {
	l.Helper()
	var places []keyspace.Reservation
	for id, record := range u.records {
		if record["s"] == stateDelivered || record["s"] == stateUncertain {
			places = append(places, keyspace.Reservation{ID: id, At: time.UnixMilli(u.number(l.T, id, "t")).UTC()})
		}
	}
	slices.SortFunc(places, func(a, b keyspace.Reservation) int { return a.At.Compare(b.At) })
	model, err := sendlimittest.NewModel(l.policy, policy.DefaultReach)
	require.NoError(l, err)
	var found []string
	for _, place := range places {
		d := model.Reserve(sendlimit.Request{User: u.user, ID: place.ID, At: place.At, Now: places[0].At})
		if !d.Allowed {
			found = append(found, fmt.Sprintf("%s: %s breaks a rule: %+v", u.user, place.ID, d.Violations))
		}
	}
	return found
}
