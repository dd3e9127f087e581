package sendlimittest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/campaigns"
	"github.com/sendlimit/sendlimiter/sendlimit/events"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// CheckMessages runs a random history of one user's messages: submits, moves,
// cancels, claims, settlements, revivals and the relay, with late, stale and
// repeated calls among them. It compares a Timeline with records, its Gate,
// WatchList and DeadLetters with a plain model of each message. The Model decides
// about places. The policy and the user's settings change meanwhile. Keys begin
// with prefix, as in CheckHistory.
func CheckMessages(t *rapid.T, client redis.UniversalClient, prefix string) {
	m := newMailbox(t, client, drawOptions(t, prefix))
	if rapid.Bool().Draw(t, "regulated") {
		m.regulate(t, &m.options.policies[0])
		m.follow(t)
	}
	m.submitSome(t)
	t.Repeat(map[string]func(*rapid.T){
		"submit":       m.submit,
		"submit some":  m.submitSome,
		"change":       m.change,
		"claim":        m.claim,
		"claim ":       m.claim, // three times as often as others
		"claim  ":      m.claim,
		"settle":       m.settle,
		"settle ":      m.settle,
		"confirm":      m.confirm,
		"hand over":    m.handOver,
		"relay":        m.relay,
		"revive":       m.revive,
		"find":         m.find,
		"pause":        m.pause,
		"policy":       m.changePolicy,
		"settings":     m.changeSettings,
		"listen":       m.listen,
		"time goes":    m.passTime,
		"workers down": m.stopWorkers,
		"":             m.inspect,
	})
}

// mailbox is one user's messages in the store, and the model of them.
type mailbox struct {
	worker // the current one

	client   redis.UniversalClient
	keys     keyspace.Keys
	options  mailboxOptions
	settings *settings.Users
	records  *messages.Records
	pauses   *campaigns.Pauses
	workers  [2]worker

	model    *Model
	now      time.Time
	messages map[string]*message
	tokens   int             // generations and nonces so far
	paused   map[string]bool // campaigns

	listened  bool    // whether somebody listens to the messages
	events    []event // that the present step has to write
	lastEvent string  // id of the last one that was inspected
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

const (
	mailboxUser = "user:1"
	holdFor     = 30 * time.Second
)

func newMailbox(t *rapid.T, client redis.UniversalClient, o mailboxOptions) *mailbox {
	m := &mailbox{client: client, now: drawStart(t), messages: make(map[string]*message), paused: make(map[string]bool), options: o}
	if rapid.IntRange(0, 4).Draw(t, "restored") == 4 {
		m.options.DropDueBefore = m.now.Add(time.Hour)
	}
	var err error
	m.keys, err = keyspace.NewKeys(o.Prefix)
	require.NoError(t, err)
	m.settings, err = settings.NewUsers(client, o.Prefix)
	require.NoError(t, err)
	m.records, err = messages.NewRecords(client, o.Prefix)
	require.NoError(t, err)
	m.pauses, err = campaigns.New(client, o.Prefix)
	require.NoError(t, err)
	m.model, err = NewModel(o.policies[0], policy.DefaultReach)
	require.NoError(t, err)
	for i := range m.workers {
		if m.workers[i].rules, err = judge.NewFixed(o.policies...); o.users {
			m.workers[i].rules, err = sendlimit.NewRules(o.policies...)
		}
		require.NoError(t, err)
	}
	m.follow(t)
	return m
}

// regime returns the user's regime.
func (m *mailbox) regime() *regime { return m.model.regime(mailboxUser).at(cut(m.now)) }

func (m *mailbox) newToken(kind string) string {
	m.tokens++
	return fmt.Sprintf("%s%d", kind, m.tokens)
}

func (m *mailbox) drawID(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "a:b", "B", "c", "d", "0f8fad5b-d9cb-469f-a165-70867728950e", "f", "g"}).Draw(t, "id")
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
	m.model.users[mailboxUser] = places(m.messages)
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

func (m *mailbox) submit(t *rapid.T) { m.submitMessage(t, m.drawID(t), m.drawTime(t)) }

// submitSome submits several messages for the near future.
func (m *mailbox) submitSome(t *rapid.T) {
	for _, id := range []string{"c", "e", "a:b", "d", "a", "B"}[rapid.IntRange(0, 3).Draw(t, "left out"):] {
		step := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 10 * time.Minute}).Draw(t, "step")
		m.submitMessage(t, id, m.now.Add(step*time.Duration(rapid.IntRange(1, 4).Draw(t, "steps"))))
	}
}

// historyContents has contents of one field of a record, of several, of all, and one too
// long for them.
var historyContents = []string{ //nolint:gochecknoglobals // a constant table
	"text", "other text", strings.Repeat("o", 64), strings.Repeat("p", 150), strings.Repeat("q", 512), strings.Repeat("r", 513),
}

// metadataOf returns the metadata of a message with a content: none, or as long.
func metadataOf(content string) string {
	if content == "text" {
		return ""
	}
	return strings.Repeat("m", len(content))
}

var historyCampaigns = []string{"", "", "Spring.26", "autumn_2-"} //nolint:gochecknoglobals // a constant table

func (m *mailbox) submitMessage(t *rapid.T, id string, at time.Time) {
	generation := m.newToken("g")
	r := sendlimit.Request{User: mailboxUser, ID: id, At: at, Shift: rapid.IntRange(0, 3).Draw(t, "shift") > 0, Now: m.now}
	content := rapid.SampledFrom(historyContents).Draw(t, "content")
	campaign := rapid.SampledFrom(historyCampaigns).Draw(t, "campaign")
	r.Category = rapid.SampledFrom(historyCategories).Draw(t, "category")
	var expires time.Time
	if after := rapid.SampledFrom([]time.Duration{0, 0, 90 * time.Second, time.Hour, 30 * time.Hour}).Draw(t, "expires"); after > 0 {
		expires = r.At.Add(after)
	}
	reach := time.Duration(m.regime().reach) * time.Millisecond
	latest := moment(cut(m.now)).Add(reach + sendlimit.ExpiryBeyondReach)
	if rapid.IntRange(0, 9).Draw(t, "expires at the edge") == 9 {
		expires = latest.Add(time.Duration(rapid.IntRange(-1, 2).Draw(t, "edge")) * time.Millisecond)
	}
	known := m.messages[id]
	var want sendlimit.Decision
	switch {
	case known.isFree():
		m.remembered()
		other := r
		other.ID = "other" // a former place of the id counts like any other
		want = m.model.Check(other)
		inReach := !at.Before(m.now.Add(-policy.Grace)) && !at.After(m.now.Add(reach))
		if inReach && expires.After(latest) {
			want = sendlimit.Decision{Code: fault.CodeInvalidField, At: r.At, Latest: latest, Now: m.now}
		}
		if want.Allowed {
			m.messages[id] = &message{
				id: id, state: pending, generations: []string{generation}, at: want.At, requested: want.RequestedAt,
				shifted: want.Shifted, category: r.Category, uncounted: m.model.regime(mailboxUser).at(cut(want.At)).uncounted[r.Category], content: content, expires: expires, lookAt: m.firstLook(want.At),
				campaign: campaign, metadata: metadataOf(content), far: m.isFar(want.At),
				accepted: moment(cut(m.now)), accept: want.At, print: r.Category + content,
			}
		}
	case known.print != r.Category+content || known.campaign != campaign:
		want = sendlimit.Decision{Code: fault.CodeIDReused, At: r.At, Now: m.now}
	default:
		want = sendlimit.Decision{
			Allowed: true, Replayed: true, Shifted: known.shifted, At: known.at, RequestedAt: known.firstRequested(), Now: m.now,
		}
	}
	r.Record = &sendlimit.Record{
		Generation: generation, Category: r.Category, Fingerprint: r.Category + "/" + campaign + "/" + content, ExpiresAt: expires,
		Content: []byte(content), Campaign: campaign, Metadata: []byte(metadataOf(content)),
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") { // clients repeat calls without an answer
		got, err := m.timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
	}
}

// change moves or cancels a message.
func (m *mailbox) change(t *rapid.T) {
	id := m.drawKnown(t, (*message).isOpen)
	if rapid.Bool().Draw(t, "cancel") {
		m.cancel(t, id)
		return
	}
	if rapid.IntRange(0, 2).Draw(t, "edit only") == 0 {
		m.edit(t, id)
		return
	}
	m.move(t, id)
}

func (m *mailbox) move(t *rapid.T, id string) {
	r := sendlimit.MoveRequest{User: mailboxUser, ID: id, At: m.drawTime(t), Generation: m.newToken("g"), Now: m.now}
	r.Check = rapid.IntRange(0, 5).Draw(t, "check only") == 5
	r.Unlimited = rapid.IntRange(0, 5).Draw(t, "unlimited") == 5
	known := m.messages[id]
	if rapid.IntRange(0, 2).Draw(t, "with an edit") == 0 {
		edit := m.drawEdit(t, known, r.At)
		r.Edit = &edit
	}
	var want sendlimit.Decision
	edited := false // without a move
	switch {
	case known.isFree():
		want = sendlimit.Decision{Code: fault.CodeNotFound, Now: m.now}
	case known.state != pending:
		want = sendlimit.Decision{Code: fault.CodeTooLate, At: known.at, Now: m.now}
	case !known.fits(r.Edit):
		want = sendlimit.Decision{Code: fault.CodeEdited, At: known.at, Now: m.now}
	default:
		want = m.expectMove(known, r)
		stays, stood := want.At.Equal(known.at), known.at
		if want.Allowed && !stays && !r.Check {
			known.countMove(m.now)
			known.note(change{letter: "m", at: m.now, to: want.At, from: known.at})
			want.Superseded = known.superseded()
			if known.requested = known.firstRequested(); known.requested.IsZero() {
				known.requested = known.at
			}
			known.renew(r.Generation, m.firstLook(want.At))
			known.far = m.isFar(want.At)
			known.at, known.promised, known.notBefore, known.waits = want.At, time.Time{}, time.Time{}, time.Time{}
			known.reason, known.reasons = "", nil
			known.uncounted = m.model.regime(mailboxUser).at(cut(want.At)).uncounted[known.category]
		}
		if want.Allowed && !r.Check {
			made := m.apply(known, r.Edit)
			edited = made && stays
		}
		if want.Allowed && !stays && !r.Check { // with the metadata that it has now
			m.note(known, events.Moved, stood, "")
		}
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.timeline.Move(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
		want.Superseded = sendlimit.Superseded{} // only the first call supersedes
		if edited {                              // who repeats it has to read the message again
			want = sendlimit.Decision{Code: fault.CodeEdited, At: known.at, Now: m.now}
		}
	}
}

// expectMove returns the decision about a move of a pending message.
func (m *mailbox) expectMove(known *message, r sendlimit.MoveRequest) sendlimit.Decision {
	at := r.At
	if at.Before(m.now) {
		at = m.now
	}
	reach := time.Duration(m.regime().reach) * time.Millisecond
	inReach := !r.At.Before(m.now.Add(-policy.Grace)) && !r.At.After(m.now.Add(reach))
	stays, expires := r.At.Equal(known.at), known.expiresAfter(r.Edit)
	newExpiry := edits(r.Edit, sendlimit.EditExpiresAt)
	if stays {
		at = known.at
	}
	if (inReach && !stays || stays && newExpiry) && !expires.IsZero() && !at.Before(expires) {
		return sendlimit.Decision{Code: fault.CodePastExpiry, At: at, ExpiresAt: expires, Now: m.now}
	}
	if latest := m.now.Add(reach + sendlimit.ExpiryBeyondReach); (inReach || stays) && newExpiry && expires.After(latest) {
		return sendlimit.Decision{Code: fault.CodeInvalidField, At: at, Latest: latest, Now: m.now}
	}
	changes := inReach && !at.Equal(known.at) && !r.At.Equal(known.at)
	if minute := known.movesSince.Add(time.Minute); changes && !r.Unlimited && known.movesIn(m.now) >= m.options.MovesPerMinute {
		return sendlimit.Decision{Code: fault.CodeRateLimited, At: at, RetryAfter: minute.Sub(m.now), Now: m.now}
	}
	// Its place may be forgotten, but the message is still pending.
	return m.model.move(m.remembered().remove(r.ID), known.place(), r)
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
		want.Allowed, want.At, want.Superseded = true, known.at, known.superseded()
		known.end(cancelled, "", m.now)
		m.noteEnd(known, "")
	}
	got, err := m.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: mailboxUser, ID: id, Now: m.now})
	require.NoError(t, err)
	require.Equal(t, want, got, id)
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
		known.at, known.at.Add(m.options.Tolerance), known.at.Add(10 * time.Minute), known.leaseEnd, known.fair.next(m.options.SettleWithin), known.notBefore,
		known.at.Add(time.Duration(m.model.remembered) * time.Millisecond), known.expiry(m.options.ExpireAfter),
	}).Draw(t, "until").Add(edge)
	if later.After(m.now) {
		m.passUntil(t, later)
	}
	if rapid.Bool().Draw(t, "forget the late mark") { // it is only a cache
		require.NoError(t, m.client.Del(t.Context(), m.keys.LateMark(mailboxUser)).Err())
	}
}
