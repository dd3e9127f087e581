package sendlimittest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// mailbox is one user's messages in the store, and the model of them.
type mailbox struct {
	worker // the current one

	client   redis.UniversalClient
	keys     keyspace.Keys
	options  mailboxOptions
	lease    time.Duration // of a delivery
	settings *settings.Users
	records  *messages.Records
	pauses   *messages.Pauses
	workers  [2]worker

	model    *Model
	now      time.Time
	messages map[string]*message
	former   []entry         // places of cancelled messages that may have arrived
	tokens   int             // generations and nonces so far
	paused   map[string]bool // campaigns
	devices  string          // of the user, as a claim returns them

	listened  bool    // whether somebody listens to the messages
	events    []event // that the present step has to write
	lastEvent string  // id of the last one that was inspected

	ids, campaigns indexed // as last inspected

	after func(*mailbox) // called after each step of play, and before time passes in one; nil for nothing
}

// worker is one of several programs on the same store. Each has its own cache of
// users' settings.
type worker struct {
	timeline *sendlimit.Timeline
	gate     *messages.Gate
	watch    *messages.WatchList
	letters  *messages.DeadLetters
	rules    *sendlimit.Rules
}

const mailboxUser = "user:1"

func newMailbox(t *rapid.T, client redis.UniversalClient, o mailboxOptions) *mailbox {
	m := &mailbox{client: client, now: drawStart(t), messages: make(map[string]*message), paused: make(map[string]bool), options: o}
	m.lease = rapid.SampledFrom([]time.Duration{30 * time.Second, time.Second}).Draw(t, "lease")
	if rapid.IntRange(0, 4).Draw(t, "restored") == 4 {
		m.options.DropDueBefore = m.now.Add(time.Hour)
	}
	var err error
	m.keys, err = keyspace.NewKeys(o.Prefix)
	require.NoError(t, err)
	m.settings = settings.NewUsers(client, keyspace.KeysUnder(o.Prefix))
	m.records = messages.NewRecords(client, keyspace.KeysUnder(o.Prefix))
	m.pauses = messages.NewPauses(client, keyspace.KeysUnder(o.Prefix))
	m.model, err = NewModel(o.policies[0], policy.DefaultReach)
	require.NoError(t, err)
	for i := range m.workers {
		if m.workers[i].rules, err = judge.NewFixed(o.policies...); o.users {
			m.workers[i].rules, err = sendlimit.NewRules(o.policies...)
		}
		require.NoError(t, err)
	}
	m.follow(t)
	m.storeDevices(t)
	return m
}

// regime returns the user's regime.
func (m *mailbox) regime() *regime { return m.model.regime(mailboxUser).at(cut(m.now)) }

func (m *mailbox) newToken(kind string) string {
	m.tokens++
	return fmt.Sprintf("%s%d", kind, m.tokens)
}

var historyIDs = []string{"a", "a:b", "B", "c", "d", "0f8fad5b-d9cb-469f-a165-70867728950e", "f", "g"} //nolint:globals // a constant table

func (m *mailbox) drawID(t *rapid.T) string {
	return rapid.SampledFrom(historyIDs).Draw(t, "id")
}

// drawKnown draws the id of a message, mostly one that matters.
func (m *mailbox) drawKnown(t *rapid.T, matters func(*message) bool) string {
	var ids []string
	for id, known := range m.messages {
		if matters(known) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || rapid.IntRange(0, 5).Draw(t, "any other") == 5 {
		return m.drawID(t)
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "of these")
}

// remembered passes the messages' places to the model and returns those that are
// not forgotten.
func (m *mailbox) remembered() timeline {
	m.model.users[mailboxUser] = m.places()
	return m.model.remember(mailboxUser, cut(m.now))
}

func (m *mailbox) drawTime(t *rapid.T) time.Time {
	step := rapid.SampledFrom([]time.Duration{
		-2 * time.Second, 0, time.Second, 20 * time.Second, time.Minute, 10 * time.Minute, 26 * time.Hour,
	}).Draw(t, "step")
	at := m.now.Add(step * time.Duration(rapid.IntRange(1, 3).Draw(t, "steps")))
	if held := m.messages[m.drawID(t)]; held != nil && rapid.Bool().Draw(t, "near") {
		at = held.at.Add(step)
	}
	return at
}

func (m *mailbox) passTime(t *rapid.T) {
	m.passUntil(t, m.now.Add(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, 29 * time.Second, 30 * time.Second, 10 * time.Minute, time.Hour, 25 * time.Hour,
	}).Draw(t, "step")))
}

// stopWorkers lets time pass to an edge of the gate's judgement of an open
// message.
func (m *mailbox) stopWorkers(t *rapid.T) {
	known := m.messages[m.drawKnown(t, (*message).isOpen)]
	if known == nil || !known.isOpen() {
		return
	}
	edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
	later := rapid.SampledFrom([]time.Time{
		known.at, known.at.Add(m.options.Tolerance), known.at.Add(10 * time.Minute), known.leaseEnd, known.grace.next(m.options.SettleWithin), known.notBefore,
		known.at.Add(time.Duration(m.model.remembered) * time.Millisecond), known.expiry(m.options.ExpireAfter),
	}).Draw(t, "until").Add(edge)
	if later.After(m.now) {
		m.passUntil(t, later)
	}
	if rapid.Bool().Draw(t, "forget the late mark") { // it is only a cache
		require.NoError(t, m.client.Del(t.Context(), m.keys.LateMark(mailboxUser)).Err())
	}
}
