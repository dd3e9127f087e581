package sendlimittest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// CheckMessages is CheckHistory for messages: it draws submits, moves,
// cancels, claims, settlements, revivals and what the relay does, the late, stale
// and repeated ones among them, and holds a Timeline with records, its Gate, its
// WatchList and its DeadLetters against a plain account of what became of each
// message. The Model decides about places. On the way the policy changes, and what
// is set for the user. Keys begin with prefix, as in CheckHistory.
func CheckMessages(t *rapid.T, client redis.UniversalClient, prefix string) {
	m := newMailbox(t, client, drawOptions(t, prefix))
	if rapid.Bool().Draw(t, "regulated") {
		m.regulate(t, &m.options.Policy)
		m.follow(t)
	}
	m.submitSome(t)
	t.Repeat(map[string]func(*rapid.T){
		"submit":       m.submit,
		"submit some":  m.submitSome,
		"change":       m.change,
		"claim":        m.claim,
		"claim ":       m.claim, // more often than the rest
		"claim  ":      m.claim,
		"settle":       m.settle,
		"settle ":      m.settle,
		"confirm":      m.confirm,
		"relay":        m.relay,
		"revive":       m.revive,
		"policy":       m.policyChanges,
		"settings":     m.settingsChange,
		"time goes":    m.timeGoes,
		"workers down": m.workersDown,
		"":             m.inspect,
	})
}

// mailbox is one user's messages in the store, and what should be there.
type mailbox struct {
	worker // the one that acts

	client   redis.UniversalClient
	keys     keyspace.Keys
	options  sendlimit.Options // completed
	settings *settings.Users
	workers  [2]worker

	model    *Model
	now      time.Time
	messages map[string]*message
	made     int // generations and nonces
}

// worker is one of several programs on the same store, which remembers for
// itself what is set for users.
type worker struct {
	timeline *sendlimit.Timeline
	gate     *messages.Gate
	watch    *messages.WatchList
	letters  *messages.DeadLetters
	cache    *judge.SettingsCache
}

const (
	mailboxUser = "user:1"
	holdFor     = 30 * time.Second
)

func newMailbox(t *rapid.T, client redis.UniversalClient, o sendlimit.Options) *mailbox {
	m := &mailbox{client: client, now: drawStart(t), messages: make(map[string]*message), options: o}
	if rapid.IntRange(0, 4).Draw(t, "restored") == 4 {
		m.options.DropDueBefore = m.now.Add(time.Hour)
	}
	var err error
	m.keys, err = keyspace.NewKeys(o.Prefix)
	require.NoError(t, err)
	m.settings, err = settings.NewUsers(client, o.Prefix)
	require.NoError(t, err)
	m.model, err = NewModel(o.Policy, policy.DefaultReach)
	require.NoError(t, err)
	for i := range m.workers {
		m.workers[i].cache = judge.NewSettingsCache()
	}
	m.follow(t)
	return m
}

// regime is what holds for the user.
func (m *mailbox) regime() *regime { return m.model.regime(mailboxUser) }

func (m *mailbox) token(kind string) string {
	m.made++
	return fmt.Sprintf("%s%d", kind, m.made)
}

func (m *mailbox) id(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "a:b", "B", "c", "d", "e", "f", "g"}).Draw(t, "id")
}

// known names a message that is likely to matter: mostly one that does, if
// there is any.
func (m *mailbox) known(t *rapid.T, matters func(*message) bool) string {
	var ids []string
	for id, known := range m.messages {
		if matters(known) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || rapid.IntRange(0, 5).Draw(t, "any other") == 5 {
		return m.id(t)
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "of these")
}

// remembered lets the model have the places that are remembered now, and
// returns them.
func (m *mailbox) remembered() timeline {
	m.model.users[mailboxUser] = places(m.messages)
	return m.model.remember(mailboxUser, cut(m.now))
}

func (m *mailbox) at(t *rapid.T) time.Time {
	step := rapid.SampledFrom([]time.Duration{
		-2 * time.Second, 0, time.Second, 20 * time.Second, time.Minute, 10 * time.Minute, 26 * time.Hour,
	}).Draw(t, "step")
	at := m.now.Add(step * time.Duration(rapid.IntRange(1, 3).Draw(t, "steps")))
	if held := m.messages[m.id(t)]; held != nil && rapid.Bool().Draw(t, "near") {
		at = held.at.Add(step)
	}
	return at
}

func (m *mailbox) submit(t *rapid.T) { m.submitAs(t, m.id(t), m.at(t)) }

// submitSome lets several messages of the user wait at once, all soon.
func (m *mailbox) submitSome(t *rapid.T) {
	for _, id := range []string{"c", "e", "a:b", "d", "a", "B"}[rapid.IntRange(0, 3).Draw(t, "left out"):] {
		step := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 10 * time.Minute}).Draw(t, "step")
		m.submitAs(t, id, m.now.Add(step*time.Duration(rapid.IntRange(1, 4).Draw(t, "steps"))))
	}
}

func (m *mailbox) submitAs(t *rapid.T, id string, at time.Time) {
	generation := m.token("g")
	r := sendlimit.Request{User: mailboxUser, ID: id, At: at, Shift: rapid.IntRange(0, 3).Draw(t, "shift") > 0, Now: m.now}
	content := rapid.SampledFrom([]string{"text", "other text"}).Draw(t, "content")
	r.Category = rapid.SampledFrom(historyCategories).Draw(t, "category")
	var expires time.Time
	if after := rapid.SampledFrom([]time.Duration{0, 0, 90 * time.Second, time.Hour, 30 * time.Hour}).Draw(t, "expires"); after > 0 {
		expires = r.At.Add(after)
	}
	known := m.messages[id]
	var want sendlimit.Decision
	switch {
	case known.free():
		m.remembered()
		fresh := r
		fresh.ID = "fresh" // a place that the id has from before counts as any other
		want = m.model.Check(fresh)
		if want.Allowed {
			m.messages[id] = &message{
				id: id, state: pending, generations: []string{generation}, at: want.At, requested: want.RequestedAt,
				shifted: want.Shifted, category: r.Category, uncounted: m.regime().uncounted[r.Category], content: content, expires: expires, lookAt: m.now.Add(m.options.LookAfter),
			}
		}
	case known.content != content || known.category != r.Category:
		want = sendlimit.Decision{Code: fault.CodeIDReused, At: r.At, Now: m.now}
	default:
		want = sendlimit.Decision{
			Allowed: true, Replayed: true, Shifted: known.shifted, At: known.at, RequestedAt: known.firstRequested(), Now: m.now,
		}
	}
	r.Record = &sendlimit.Record{
		Generation: generation, Category: r.Category, Fingerprint: r.Category + content, ExpiresAt: expires, Content: []byte(content),
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") { // a client repeats what got no answer
		got, err := m.timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
	}
}

// change moves or cancels a message.
func (m *mailbox) change(t *rapid.T) {
	id := m.known(t, (*message).open)
	if rapid.Bool().Draw(t, "cancel") {
		m.cancel(t, id)
		return
	}
	m.move(t, id)
}

func (m *mailbox) move(t *rapid.T, id string) {
	r := sendlimit.MoveRequest{User: mailboxUser, ID: id, At: m.at(t), Generation: m.token("g"), Now: m.now}
	known := m.messages[id]
	var want sendlimit.Decision
	switch {
	case known.free():
		want = sendlimit.Decision{Code: fault.CodeNotFound, Now: m.now}
	case known.state != pending:
		want = sendlimit.Decision{Code: fault.CodeTooLate, At: known.at, Now: m.now}
	default:
		want = m.place(known, r)
		if want.Allowed && !want.At.Equal(known.at) {
			if known.requested = known.firstRequested(); known.requested.IsZero() {
				known.requested = known.at
			}
			known.renew(r.Generation, m.now.Add(m.options.LookAfter))
			known.at, known.promised, known.notBefore, known.waits = want.At, time.Time{}, time.Time{}, time.Time{}
			known.reason, known.reasons = "", nil
			known.uncounted = m.regime().uncounted[known.category]
		}
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.timeline.Move(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
	}
}

// place says whether a pending message may move.
func (m *mailbox) place(known *message, r sendlimit.MoveRequest) sendlimit.Decision {
	at := r.At
	if at.Before(m.now) {
		at = m.now
	}
	reach := time.Duration(m.regime().reach) * time.Millisecond
	inReach := !r.At.Before(m.now.Add(-policy.Grace)) && !r.At.After(m.now.Add(reach))
	if inReach && !r.At.Equal(known.at) && !known.expires.IsZero() && !at.Before(known.expires) {
		return sendlimit.Decision{Code: fault.CodePastExpiry, At: at, ExpiresAt: known.expires, Now: m.now}
	}
	// Its place may count no more, but the message is still to be sent.
	return m.model.move(m.remembered().without(r.ID), known.place(), r)
}

func (m *mailbox) cancel(t *rapid.T, id string) {
	known := m.messages[id]
	want := sendlimit.Decision{Now: m.now}
	switch {
	case known == nil || known.state == dropped || known.state == failed:
		want.Code = fault.CodeNotFound
	case known.state == cancelled:
		want.Allowed, want.Replayed, want.At = true, true, known.at
	case known.state != pending:
		want.Code, want.At = fault.CodeTooLate, known.at
	default:
		want.Allowed, want.At = true, known.at
		known.end(cancelled, "", m.now)
	}
	got, err := m.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: mailboxUser, ID: id, Now: m.now})
	require.NoError(t, err)
	require.Equal(t, want, got, id)
}

func (m *mailbox) timeGoes(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, 29 * time.Second, 30 * time.Second, 10 * time.Minute, time.Hour, 25 * time.Hour,
	}).Draw(t, "step"))
}

// workersDown lets time go past what waits, to an edge of the gate's judgement
// of one of them.
func (m *mailbox) workersDown(t *rapid.T) {
	known := m.messages[m.known(t, (*message).open)]
	if known == nil || !known.open() {
		return
	}
	edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
	later := rapid.SampledFrom([]time.Time{
		known.at, known.at.Add(m.options.Tolerance), known.at.Add(10 * time.Minute), known.leaseEnd, known.notBefore,
		known.at.Add(time.Duration(m.model.remembered) * time.Millisecond), known.expiry(m.options.ExpireAfter),
	}).Draw(t, "until").Add(edge)
	if later.After(m.now) {
		m.now = later
	}
	if rapid.Bool().Draw(t, "forget the late mark") { // which only saves the gate work
		require.NoError(t, m.client.Del(t.Context(), m.keys.LateMark(mailboxUser)).Err())
	}
}
