package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// crashProvider answers as each message asks it to.
func crashProvider(r notifiertest.Request) notifiertest.Answer {
	p, err := r.Payload()
	if err != nil {
		return notifiertest.Answer{Status: http.StatusTeapot}
	}
	switch {
	case p.Data["provider"] == providerGone:
		return notifiertest.Answer{Status: http.StatusBadRequest}
	case p.Data["provider"] == providerFull && p.Attempt == 1:
		return notifiertest.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}}
	case p.Data["provider"] == providerSlow:
		return notifiertest.Answer{Delay: crashPushTimeout / 3}
	case p.Data["provider"] == providerBusy && p.Attempt == 1, p.Data["provider"] == providerAgain && p.Attempt <= 2:
		return notifiertest.Answer{Status: http.StatusServiceUnavailable}
	}
	return notifiertest.Answer{}
}

// crashHistory is everything that is known of some processes when all has ended.
type crashHistory struct {
	policy    policy.Policy
	plans     map[string]crashPlan // by submitter
	skip      bool
	tolerance time.Duration
	events    []crashEvent
	requests  []notifiertest.Request
	users     map[string]userState
}

// deliveries are the arrivals of one message that the provider accepted.
type deliveries map[messageName]map[int][]time.Time // by life

func (h crashHistory) deliveries(t *testing.T) deliveries {
	t.Helper()
	found := make(deliveries)
	for _, r := range h.requests {
		if crashProvider(r).Status != 0 {
			continue
		}
		p, err := r.Payload()
		require.NoError(t, err)
		name, life, ok := parseContent(p.Title)
		require.True(t, ok && name == messageName{p.User, p.ID}, "content of another message: %+v", p)
		if found[name] == nil {
			found[name] = make(map[int][]time.Time)
		}
		found[name][life] = append(found[name][life], r.Arrived)
	}
	return found
}

// faults compares the deliveries and the store with what the submitters were told.
func (h crashHistory) faults(t *testing.T) []string {
	t.Helper()
	lives, faults := livesOf(h.plans, h.events)
	delivered, unsure := h.deliveries(t), doubts(h.events)
	last := make(map[messageName][]*life)
	for _, l := range lives {
		faults = append(faults, h.lifeFaults(t, l, delivered[l.messageName][l.number], unsure[l.messageName])...)
		delete(delivered[l.messageName], l.number)
		if !l.absent && !l.mayBeAbsent {
			last[l.messageName] = nil // earlier lives are over
		}
		last[l.messageName] = append(last[l.messageName], l)
	}
	for name, rest := range delivered {
		if len(rest) > 0 {
			faults = append(faults, fmt.Sprintf("%+v: delivered, and never submitted: %v", name, rest))
		}
	}
	for name, of := range last {
		faults = append(faults, h.stateFaults(t, name, of, unsure[name])...)
	}
	for _, u := range h.users {
		faults = append(faults, u.faults(t)...)
		faults = append(faults, h.ruleFaults(t, u)...)
		if len(u.watched) > 0 {
			faults = append(faults, fmt.Sprintf("%s: still looked after: %v", u.user, u.watched))
		}
	}
	slices.Sort(faults)
	return faults
}

// lifeFaults judges how often a message was delivered, and when.
func (h crashHistory) lifeFaults(t *testing.T, l *life, arrivals []time.Time, unsure int) []string {
	t.Helper()
	usedUp := h.users[l.user].number(t, l.id, "n") >= crashAttempts
	least, most := l.bounds(unsure, h.skip, usedUp)
	var found []string
	if len(arrivals) < least || len(arrivals) > most {
		found = append(found, fmt.Sprintf("%s/%s: delivered %d times, not %d to %d (%d in doubt): %+v, record %q, arrivals %v",
			l.user, l.id, len(arrivals), least, most, unsure, *l, h.users[l.user].records[l.id], arrivals))
	}
	for _, at := range arrivals {
		if len(l.places) > 0 && at.Before(l.earliest(unsure)) {
			found = append(found, fmt.Sprintf("%s/%s: delivered early, at %s: %+v", l.user, l.id, at, *l))
		}
	}
	return found
}

// stateFaults judges how a message ended. It may be one of several lives, if it is
// unknown whether the later ones were accepted.
func (h crashHistory) stateFaults(t *testing.T, name messageName, lives []*life, unsure int) []string {
	t.Helper()
	u := h.users[name.user]
	record := u.records[name.id]
	usedUp := u.number(t, name.id, "n") >= crashAttempts
	mayEndSo := slices.ContainsFunc(lives, func(l *life) bool { return l.mayEnd(record, unsure, h.skip, usedUp) })
	var found []string
	fault := func(format string, args ...any) {
		found = append(found, fmt.Sprintf("%s/%s: %s: record %q, %d in doubt", name.user, name.id, fmt.Sprintf(format, args...), record, unsure))
	}
	if !mayEndSo {
		fault("ended %q: %+v", record["s"], *lives[len(lives)-1])
	}
	switch {
	case record["s"] == stateDelivered:
		late := u.number(t, name.id, "e") - u.number(t, name.id, "t")
		if late < 0 || late > h.tolerance.Milliseconds() {
			fault("recorded %d ms before it was sent", late)
		}
	case record["s"] == stateDropped && record["w"] == "expired":
		if u.number(t, name.id, "e") < u.number(t, name.id, "x") {
			fault("dropped before its expiry")
		}
	}
	return found
}

// ruleFaults judges by the policy the recorded send times of everything that was
// delivered, or may have been.
func (h crashHistory) ruleFaults(t *testing.T, u userState) []string {
	t.Helper()
	var places []keyspace.Reservation
	for id, record := range u.records {
		if record["s"] == stateDelivered || record["s"] == stateUncertain {
			places = append(places, keyspace.Reservation{ID: id, At: time.UnixMilli(u.number(t, id, "t")).UTC()})
		}
	}
	slices.SortFunc(places, func(a, b keyspace.Reservation) int { return a.At.Compare(b.At) })
	model, err := sendlimittest.NewModel(h.policy, policy.DefaultReach)
	require.NoError(t, err)
	var found []string
	for _, place := range places {
		d := model.Reserve(sendlimit.Request{User: u.user, ID: place.ID, At: place.At, Now: places[0].At})
		if !d.Allowed {
			found = append(found, fmt.Sprintf("%s: %s breaks a rule: %+v", u.user, place.ID, d.Violations))
		}
	}
	return found
}
