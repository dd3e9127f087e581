package integration_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Events of the crash rounds: somebody listens to all accounts. Whoever dies, every change is
// in the log, once, and those of a message in their order.

// listen lets somebody listen for longer than the round takes.
func (r *crashRound) listen() {
	r.Helper()
	listeners, err := events.NewListeners(r.store.client, r.base.Prefix)
	require.NoError(r, err)
	now, err := r.store.client.Time(r.Context()).Result()
	require.NoError(r, err)
	require.NoError(r, listeners.Listen(r.Context(), keyspace.Everyone, now.Add(time.Hour)))
}

// ungathered counts the events that no worker has gathered.
func (r *crashRound) ungathered() int {
	r.Helper()
	left := 0
	for user := range r.ids {
		n, err := r.store.client.XLen(r.Context(), r.store.keys.PartitionEvents(keyspace.Partition(user))).Result()
		require.NoError(r, err)
		left += int(n)
	}
	return left
}

// eventFaults compares the log with the records that all messages have in the end.
func (r *crashRound) eventFaults() []string {
	r.Helper()
	log, err := events.NewLog(r.store.client, events.Options{Prefix: r.base.Prefix})
	require.NoError(r, err)
	var faults []string
	last, seen := make(map[messageName]events.Event), make(map[string]bool)
	for after := ""; ; {
		page, err := log.Read(r.Context(), keyspace.Everyone, after, events.MaxRead)
		require.NoError(r, err)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			name := messageName{e.User, e.MessageID}
			after, e.ID = e.ID, ""
			if text := fmt.Sprintf("%+v", e); seen[text] {
				faults = append(faults, fmt.Sprintf("%s/%s: the log has an event twice: %s", e.User, e.MessageID, text))
			} else {
				seen[text] = true
			}
			if e.At.Before(last[name].At) {
				faults = append(faults, fmt.Sprintf("%s/%s: %+v comes after %+v", e.User, e.MessageID, e, last[name]))
			}
			last[name] = e
		}
	}
	for user, state := range r.history.users {
		for id, record := range state.records {
			if e := last[messageName{user, id}]; !isEventOf(e, record) {
				faults = append(faults, fmt.Sprintf("%s/%s: the last event is %+v, the record %q", user, id, e, record))
			}
		}
	}
	return faults
}

// isEventOf reports whether an event tells how a message ended.
func isEventOf(e events.Event, record map[string]string) bool {
	ended := map[string]events.Type{
		stateDelivered: events.Delivered, stateCancelled: events.Cancelled, stateDropped: events.Dropped,
		stateFailed: events.Failed, stateUncertain: events.Uncertain,
	}
	ms := func(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }
	if e.Type != ended[record["s"]] || ms(e.SendAt) != record["t"] {
		return false
	}
	if e.Type == events.Delivered { // its record says when the delivery began
		return e.ProviderID == record["i"] && ms(e.At) >= record["e"]
	}
	return ms(e.At) == record["e"]
}
