package sendlimittest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// CheckMessages runs a random history of one user's messages: submits, moves,
// cancels, claims, settlements, revivals and the relay, with late, stale and
// repeated calls among them. It compares a Timeline with records, its Gate,
// WatchList and DeadLetters with a plain model of each message. The Model decides
// about places. The policy and the user's settings change meanwhile. Keys begin
// with prefix, as in CheckHistory.
func CheckMessages(t *rapid.T, client redis.UniversalClient, prefix string) {
	newMailbox(t, client, drawOptions(t, prefix)).play(t, func(m *mailbox) { m.inspect(t) })
}

// Played is the result of a history of messages.
type Played struct {
	User    string
	IDs     []string
	Now     time.Time
	Options sendlimit.Options
}

// PlayMessages runs a history as CheckMessages does, and calls after after each step instead of
// comparing the store with the model. All messages are in the index.
func PlayMessages(t *rapid.T, client redis.UniversalClient, prefix string, after func(Played)) {
	o := drawOptions(t, prefix)
	o.WithoutIndex = false
	newMailbox(t, client, o).play(t, func(m *mailbox) {
		o := m.options.Options
		o.Rules = m.rules
		after(Played{User: mailboxUser, IDs: slices.Sorted(maps.Keys(m.messages)), Now: m.now, Options: o})
	})
}

// begin draws quiet hours and categories of the policy, or none.
func (m *mailbox) begin(t *rapid.T) {
	if rapid.Bool().Draw(t, "regulated") {
		m.regulate(t, &m.options.policies[0])
		m.follow(t)
	}
}

// play runs a random history, and calls after after each step, and before time passes within one.
func (m *mailbox) play(t *rapid.T, after func(*mailbox)) {
	m.after = after
	m.begin(t)
	if rapid.IntRange(0, 3).Draw(t, "crowded") == 3 {
		m.crowd(t)
	}
	m.submitSome(t)
	t.Repeat(map[string]func(*rapid.T){
		"submit":       m.submit,
		"submit some":  m.submitSome,
		"submit many":  m.submitMany,
		"replace":      m.replace,
		"change":       m.change,
		"claim":        m.claim,
		"claim ":       m.claim, // three times as often as others
		"claim  ":      m.claim,
		"deliver":      m.deliver,
		"settle":       m.settle,
		"settle ":      m.settle,
		"confirm":      m.confirm,
		"hand over":    m.handOver,
		"relay":        m.relay,
		"revive":       m.revive,
		"find":         m.find,
		"crowd":        m.crowd,
		"pause":        m.pause,
		"policy":       m.changePolicy,
		"settings":     m.changeSettings,
		"listen":       m.listen,
		"time goes":    m.passTime,
		"workers down": m.stopWorkers,
		"":             func(*rapid.T) { after(m) },
	})
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
var historyContents = []string{ //nolint:globals // a constant table
	"text", "other text", strings.Repeat("o", 64), strings.Repeat("p", 150), strings.Repeat("q", 512), strings.Repeat("r", 513),
}

// metadataOf returns the metadata of a message with a content: none, or as long.
func metadataOf(content string) string {
	if content == "text" {
		return ""
	}
	return strings.Repeat("m", len(content))
}

// traceOf returns the trace of a message with a content: none, or bytes that are no text.
func traceOf(content string) []byte {
	if content == "text" {
		return nil
	}
	return []byte{0, 255, byte(len(content) & 0x7f), 10}
}

// localOf returns how the time of a message with a content was read from a local time; "" for not
// from one. Some messages keep it.
func localOf(content string) string {
	switch content {
	case "text":
		return ""
	case historyContents[1]:
		return keptIn("")
	case historyContents[2]:
		return keptIn(historyZones[1])
	default:
		return "local time of " + content[:4]
	}
}

// keptIn returns a local time that a message keeps, read in a user's own zone; "" for a default.
func keptIn(own string) string {
	if own == "" {
		return "d 2000-01-01T09:00:00 UTC "
	}
	return "f 2000-01-01T09:00:00 " + own + " skipped"
}

// keepsLocal reports whether a message keeps its local time, and in which zone of the user's own it was
// read; "" for a default.
func (m *message) keepsLocal() (own string, keeps bool) {
	words := strings.Fields(m.local)
	if len(words) < 3 || words[0] != "f" && words[0] != "d" {
		return "", false
	}
	if words[0] == "d" {
		return "", true
	}
	return words[2], true
}

var historyCampaigns = []string{"", "", "Spring.26", "autumn_2-"} //nolint:globals // a constant table

func (m *mailbox) submitMessage(t *rapid.T, id string, at time.Time) {
	r := m.drawSubmit(t, id, at, rapid.SampledFrom(historyCategories).Draw(t, "category"))
	r.Shift = rapid.IntRange(0, 3).Draw(t, "shift") > 0
	want := m.expectSubmit(r)
	for range rapid.IntRange(1, 2).Draw(t, "calls") { // clients repeat calls without an answer
		got, err := m.timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
	}
}

// submitMany submits several messages in one call, and those that it leaves one by one.
func (m *mailbox) submitMany(t *rapid.T) {
	category := rapid.SampledFrom(historyCategories).Draw(t, "category")
	requests := make([]sendlimit.Request, rapid.IntRange(1, 6).Draw(t, "messages"))
	for i := range requests {
		at := m.drawTime(t)
		if i > 0 && rapid.Bool().Draw(t, "near") {
			at = requests[i-1].At.Add(time.Duration(rapid.IntRange(-1, 3).Draw(t, "minutes")) * time.Minute)
		}
		requests[i] = m.drawSubmit(t, m.drawID(t), at, category)
		requests[i].WithoutFreeTimes = rapid.Bool().Draw(t, "without free times")
	}
	decisions, err := m.timeline.ReserveMany(t.Context(), requests)
	require.NoError(t, err)
	for i, r := range requests {
		if i == len(decisions) {
			d, err := m.timeline.Reserve(t.Context(), r)
			require.NoError(t, err)
			decisions = append(decisions, d)
		}
		require.Equal(t, m.expectSubmit(r), decisions[i], "%d: %+v", i, r)
	}
}

// drawSubmit draws a request for a message.
func (m *mailbox) drawSubmit(t *rapid.T, id string, at time.Time, category string) sendlimit.Request {
	content := rapid.SampledFrom(historyContents).Draw(t, "content")
	campaign := rapid.SampledFrom(historyCampaigns).Draw(t, "campaign")
	var expires time.Time
	if after := rapid.SampledFrom([]time.Duration{0, 0, 90 * time.Second, time.Hour, 30 * time.Hour}).Draw(t, "expires"); after > 0 {
		expires = at.Add(after)
	}
	if rapid.IntRange(0, 9).Draw(t, "expires at the edge") == 9 {
		expires = m.latestExpiry().Add(time.Duration(rapid.IntRange(-1, 2).Draw(t, "edge")) * time.Millisecond)
	}
	return sendlimit.Request{User: mailboxUser, ID: id, At: at, Category: category, Now: m.now, Record: &sendlimit.Record{
		Generation: m.newToken("g"), Category: category, Fingerprint: category + "/" + campaign + "/" + content, ExpiresAt: expires,
		Content: []byte(content), Campaign: campaign, Metadata: []byte(metadataOf(content)), Trace: traceOf(content),
		Local: localOf(content),
	}}
}

func (m *mailbox) reach() time.Duration { return time.Duration(m.regime().reach) * time.Millisecond }

func (m *mailbox) latestExpiry() time.Time {
	return moment(cut(m.now)).Add(m.reach() + sendlimit.ExpiryBeyondReach)
}

// expectSubmit returns the decision about a request that is made now, and notes the message if its
// place is taken.
func (m *mailbox) expectSubmit(r sendlimit.Request) sendlimit.Decision {
	known := m.messages[r.ID]
	switch {
	case known.isFree():
	case !known.isOf(r):
		return sendlimit.Decision{Code: fault.CodeIDReused, At: r.At, Now: m.now}
	default:
		return sendlimit.Decision{
			Allowed: true, Replayed: true, Replaced: known.replaced, Shifted: known.shifted, At: known.at, RequestedAt: known.firstRequested(), Now: m.now,
		}
	}
	m.remembered()
	want := m.judgeNew(r)
	if want.Allowed {
		m.messages[r.ID] = m.newMessage(r, want)
	}
	return want
}

// judgeNew returns the decision about a request with a free id, by the places that the model has.
func (m *mailbox) judgeNew(r sendlimit.Request) sendlimit.Decision {
	other := r
	other.ID, other.Record = "other", nil // a former place of the id counts like any other
	inReach := !r.At.Before(m.now.Add(-policy.Grace)) && !r.At.After(m.now.Add(m.reach()))
	if latest := m.latestExpiry(); inReach && r.Record.ExpiresAt.After(latest) {
		return sendlimit.Decision{Code: fault.CodeInvalidField, At: r.At, Latest: latest, Now: m.now}
	}
	return m.model.check(other, spreadKey(r))
}

// newMessage returns the message of a request that was accepted.
func (m *mailbox) newMessage(r sendlimit.Request, accepted sendlimit.Decision) *message {
	content := string(r.Record.Content)
	return &message{
		id: r.ID, state: pending, generations: []string{r.Record.Generation}, at: accepted.At, requested: accepted.RequestedAt,
		shifted: accepted.Shifted, category: r.Category, uncounted: m.model.regime(mailboxUser).at(cut(accepted.At)).uncounted[r.Category],
		content: content, expires: r.Record.ExpiresAt, lookAt: m.firstLook(accepted.At),
		campaign: r.Record.Campaign, metadata: metadataOf(content), trace: traceOf(content), local: localOf(content), far: m.isFar(accepted.At),
		accepted: moment(cut(m.now)), accept: accepted.At, print: r.Category + content,
	}
}
