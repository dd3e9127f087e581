package sendlimittest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// CheckMessages is CheckHistory for messages: it draws submits, moves,
// cancels, claims and settlements, the late, stale and repeated ones among
// them, and holds a Timeline with records, its Gate and its WatchList against
// a plain account of what became of each message. The Model decides about
// places. Keys begin with prefix, as in CheckHistory.
func CheckMessages(t *rapid.T, client redis.Cmdable, prefix string) {
	policy, err := sendlimit.ParsePolicy("messages", "", "1/minute", "3/hour")
	require.NoError(t, err)
	o := sendlimit.Options{
		Prefix: prefix, Policy: policy, Records: true,
		// No record expires by the server's clock while a history runs by its own.
		KeepRecords: 50 * 365 * 24 * time.Hour,
	}
	m := &mailbox{client: client, now: drawStart(t), messages: make(map[string]*message)}
	m.keys, err = sendlimit.NewKeys(prefix)
	require.NoError(t, err)
	m.timeline, err = sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	m.gate, err = sendlimit.NewGate(client, o)
	require.NoError(t, err)
	m.watch, err = sendlimit.NewWatchList(client, prefix)
	require.NoError(t, err)
	m.model, err = NewModel(policy, sendlimit.DefaultReach)
	require.NoError(t, err)
	t.Repeat(map[string]func(*rapid.T){
		"submit":    m.submit,
		"submit ":   m.submit, // twice as often as the rest
		"move":      m.move,
		"cancel":    m.cancel,
		"claim":     m.claim,
		"claim ":    m.claim,
		"settle":    m.settle,
		"confirm":   m.confirm,
		"time goes": m.timeGoes,
		"":          m.inspect,
	})
}

type state string

const (
	pending   state = "pending"
	sending   state = "sending"
	delivered state = "delivered"
	cancelled state = "cancelled"
	expired   state = "expired"
	failed    state = "failed"
)

// message is what is known of a message.
type message struct {
	state       state
	generations []string // the last one is the present one
	at          time.Time
	requested   time.Time // zero where it is, and always was, at
	shifted     bool
	content     string
	expires     time.Time // zero for a day after at
	nonce       string    // of the delivery that has or had it
	leaseEnd    time.Time
	notBefore   time.Time // of a retry
	attempts    int
	lookAt      time.Time // the watch entry of the present generation
}

func (m *message) generation() string { return m.generations[len(m.generations)-1] }

func (m *message) free() bool {
	return m == nil || m.state == cancelled || m.state == expired || m.state == failed
}

func (m *message) ended() bool { return m.free() || m.state == delivered }

func (m *message) expiry() time.Time {
	if m.expires.IsZero() {
		return m.at.Add(sendlimit.DefaultExpireAfter)
	}
	return m.expires
}

// mailbox is one user's messages in the store, and what should be there.
type mailbox struct {
	client   redis.Cmdable
	keys     sendlimit.Keys
	timeline *sendlimit.Timeline
	gate     *sendlimit.Gate
	watch    *sendlimit.WatchList

	model    *Model
	now      time.Time
	messages map[string]*message
	made     int // generations and nonces
}

const (
	mailboxUser = "user:1"
	watchDelay  = 10 * time.Second
	overdue     = time.Minute
	holdFor     = 30 * time.Second
)

func (m *mailbox) token(kind string) string {
	m.made++
	return fmt.Sprintf("%s%d", kind, m.made)
}

func (m *mailbox) id(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "a:b", "c", "d", "e"}).Draw(t, "id")
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

func (m *mailbox) submit(t *rapid.T) {
	id, generation := m.id(t), m.token("g")
	r := sendlimit.Request{User: mailboxUser, ID: id, At: m.at(t), Shift: rapid.Bool().Draw(t, "shift"), Now: m.now}
	content := rapid.SampledFrom([]string{"text", "other text"}).Draw(t, "content")
	var expires time.Time
	if rapid.Bool().Draw(t, "expires") {
		expires = r.At.Add(30 * time.Minute)
	}
	known := m.messages[id]
	var want sendlimit.Decision
	switch {
	case known.free():
		want = m.model.Reserve(r)
		if want.Allowed {
			m.messages[id] = &message{
				state: pending, generations: []string{generation}, at: want.At, requested: want.RequestedAt,
				shifted: want.Shifted, content: content, expires: expires, lookAt: m.now.Add(watchDelay),
			}
		}
	case known.content != content:
		want = sendlimit.Decision{Code: sendlimit.CodeIDReused, At: r.At, Now: m.now}
	default:
		want = sendlimit.Decision{
			Allowed: true, Replayed: true, Shifted: known.shifted, At: known.at, RequestedAt: known.requested, Now: m.now,
		}
	}
	r.Record = &sendlimit.Record{Generation: generation, Fingerprint: content, ExpiresAt: expires, Content: []byte(content)}
	for range rapid.IntRange(1, 2).Draw(t, "calls") { // a client repeats what got no answer
		got, err := m.timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
	}
}

func (m *mailbox) move(t *rapid.T) {
	id := m.id(t)
	r := sendlimit.MoveRequest{User: mailboxUser, ID: id, At: m.at(t), Generation: m.token("g"), Now: m.now}
	known := m.messages[id]
	var want sendlimit.Decision
	switch {
	case known.free():
		want = sendlimit.Decision{Code: sendlimit.CodeNotFound, Now: m.now}
	case known.state != pending:
		want = sendlimit.Decision{Code: sendlimit.CodeTooLate, At: known.at, Now: m.now}
	default:
		want = m.place(known, r)
		if want.Allowed && !want.At.Equal(known.at) {
			if known.requested.IsZero() {
				known.requested = known.at
			}
			known.generations = append(known.generations, r.Generation)
			known.at, known.notBefore, known.lookAt = want.At, time.Time{}, m.now.Add(watchDelay)
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
	inReach := !r.At.Before(m.now.Add(-sendlimit.Grace)) && !r.At.After(m.now.Add(sendlimit.DefaultReach))
	if inReach && !r.At.Equal(known.at) && !known.expires.IsZero() && !at.Before(known.expires) {
		return sendlimit.Decision{Code: sendlimit.CodePastExpiry, At: at, ExpiresAt: known.expires, Now: m.now}
	}
	if slices.ContainsFunc(m.places(), func(p sendlimit.Reservation) bool { return p.ID == r.ID }) {
		return m.model.Move(r)
	}
	// Its place is forgotten, but the message is not: it is still to be sent.
	if r.At.Equal(known.at) {
		return sendlimit.Decision{Allowed: true, At: known.at, MovedFrom: known.at, Now: m.now}
	}
	d := m.model.Reserve(sendlimit.Request{User: r.User, ID: r.ID, At: r.At, Now: m.now})
	if d.Allowed {
		d.MovedFrom = known.at
	}
	return d
}

func (m *mailbox) cancel(t *rapid.T) {
	id := m.id(t)
	known := m.messages[id]
	want := sendlimit.Decision{Now: m.now}
	switch {
	case known == nil || known.state == expired || known.state == failed:
		want.Code = sendlimit.CodeNotFound
	case known.state == cancelled:
		want.Allowed, want.Replayed, want.At = true, true, known.at
	case known.state != pending:
		want.Code, want.At = sendlimit.CodeTooLate, known.at
	default:
		want.Allowed, want.At = true, known.at
		m.end(id, cancelled)
	}
	got, err := m.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: mailboxUser, ID: id, Now: m.now})
	require.NoError(t, err)
	require.Equal(t, want, got, id)
}

// end ends a message that gives its place back.
func (m *mailbox) end(id string, how state) {
	m.messages[id].state = how
	m.model.Release(sendlimit.ReleaseRequest{User: mailboxUser, ID: id, Now: m.now})
}

func (m *mailbox) places() []sendlimit.Reservation {
	return m.model.List(sendlimit.ListRequest{User: mailboxUser, Now: m.now})
}

// inspect holds what is in the store against what should be.
func (m *mailbox) inspect(t *rapid.T) {
	list, err := m.timeline.List(t.Context(), sendlimit.ListRequest{User: mailboxUser, Now: m.now})
	require.NoError(t, err)
	require.Equal(t, m.places(), list)

	entries, err := m.client.ZRangeWithScores(t.Context(), m.keys.Watch(mailboxUser), 0, -1).Result()
	require.NoError(t, err)
	watched := make(map[any]time.Time)
	for _, e := range entries {
		watched[e.Member] = moment(int64(e.Score))
	}
	wanted := make(map[any]time.Time)
	for id, known := range m.messages {
		content := ""
		if !known.ended() {
			wanted[sendlimit.WatchMember(mailboxUser, id, known.generation())] = known.lookAt
			content = known.content
		}
		stored, err := m.client.HGet(t.Context(), m.keys.Record(mailboxUser, id), "c").Result()
		if content == "" {
			require.ErrorIs(t, err, redis.Nil, "erased when the message ends")
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, content, stored)
	}
	require.Equal(t, wanted, watched)
}

func (m *mailbox) timeGoes(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, 29 * time.Second, 30 * time.Second, 10 * time.Minute, time.Hour, 25 * time.Hour,
	}).Draw(t, "step"))
}
