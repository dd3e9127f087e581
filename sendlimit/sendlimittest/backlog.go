package sendlimittest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// CheckBacklog is like CheckMessages, for a user with more late messages than one
// call of the gate's script places. It draws the messages, an outage and the
// order of the tasks after it. It compares every claim with the model's until
// all messages are sent or dropped, and requires that late messages keep their
// order.
func CheckBacklog(t *rapid.T, client redis.UniversalClient, prefix string) {
	o := drawOptions(t, prefix)
	rules := rapid.SampledFrom([][]string{
		{"1/minute"},
		{"2/minute", "40/calendar_hour"},
		{"30/10m"},
		{"60/hour", "70/calendar_day"},
	}).Draw(t, "busy rules")
	p, err := policy.Parse("backlog", "", rules...)
	require.NoError(t, err)
	if rapid.Bool().Draw(t, "categories") {
		own, err := policy.ParseRule(rapid.SampledFrom([]string{"1/minute", "20/10m", "2/calendar_minute"}).Draw(t, "of a category"))
		require.NoError(t, err)
		p.Categories = map[string]policy.CategoryRules{"marketing": {Rules: []policy.Rule{own}}, "otp": {Exempt: true}}
	}
	o.policies = []policy.Policy{p}
	m := newMailbox(t, client, o)
	m.options.DropDueBefore = time.Time{}
	m.options.policies[0].QuietHours = drawnPolicies{start: m.now}.drawQuietHours(t, "")
	m.follow(t)

	m.fill(t, rapid.IntRange(maxPlaced-1, 2*maxPlaced+maxPlaced/2).Draw(t, "messages"))
	outage := rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 20 * time.Hour}).Draw(t, "outage")
	all := places(m.messages)
	m.passUntil(t, moment(all[len(all)-1].at).Add(outage))
	first := make(map[string]time.Time)
	for id, known := range m.messages {
		first[id] = known.at
	}
	for round := 0; round < 3 && m.drain(t); round++ {
		requireOrder(t, first, m)
	}
	m.inspect(t)
}

// fill submits messages. Each takes the next free time.
func (m *mailbox) fill(t *rapid.T, messages int) {
	at := m.now
	for i := range messages {
		id, generation := fmt.Sprintf("m%03d", i), m.newToken("g")
		r := sendlimit.Request{
			User: mailboxUser, ID: id, At: at, Shift: true, Now: m.now,
			Record: &sendlimit.Record{
				Generation: generation, Category: rapid.SampledFrom([]string{"", "", "marketing", "otp"}).Draw(t, "category"),
				Content: []byte("text"),
			},
		}
		if rapid.IntRange(0, 3).Draw(t, "expires") > 0 {
			r.Record.ExpiresAt = at.Add(1000 * time.Hour)
		}
		d, err := m.timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		m.messages[id] = &message{
			id: id, state: pending, generations: []string{generation}, at: d.At, requested: d.RequestedAt,
			shifted: d.Shifted, category: r.Record.Category, content: "text", expires: r.Record.ExpiresAt, lookAt: m.firstLook(d.At),
			far: m.isFar(d.At), accepted: moment(cut(m.now)), accept: d.At, print: r.Record.Category + "text",
		}
		at = d.At
	}
}

// drain claims and delivers due messages, in any order. If nothing is due, time
// passes until the next message is. It reports false when no message is left.
func (m *mailbox) drain(t *rapid.T) bool {
	var due []string
	next := time.Time{}
	for id, known := range m.messages {
		switch {
		case !known.isOpen():
		case !m.now.Before(known.due()):
			due = append(due, id)
		case next.IsZero() || known.due().Before(next):
			next = known.due()
		}
	}
	if len(due) == 0 {
		if !next.IsZero() {
			m.passUntil(t, next)
		}
		return !next.IsZero()
	}
	slices.Sort(due)
	for _, id := range rapid.Permutation(due).Draw(t, "tasks") {
		known := m.messages[id]
		if !known.isOpen() || m.now.Before(known.due()) {
			continue // dropped or postponed meanwhile
		}
		d := messages.Delivery{User: mailboxUser, ID: id, Generation: known.generation(), Nonce: m.newToken("n")}
		want := m.expectClaim(d)
		got, err := m.gate.Claim(t.Context(), d, m.lease, m.now)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", d)
		if want.Verdict != messages.Send {
			continue
		}
		s := messages.Settlement{Outcome: messages.Delivered, Began: m.now}
		require.True(t, m.expectSettlement(d, s))
		held, err := m.gate.Settle(t.Context(), d, s, m.now)
		require.NoError(t, err)
		require.True(t, held)
	}
	return true
}

// requireOrder requires that late messages of a class keep the order of their
// first send times. Exempt messages need not. Messages that are still late have
// no new time yet.
func requireOrder(t *rapid.T, first map[string]time.Time, m *mailbox) {
	sent := make(map[string][]*message)
	for _, known := range m.messages {
		if known.state == delivered || known.isOpen() && !known.at.Before(m.now) {
			if class := m.regime().class(known.category); !m.regime().exempt[class] {
				sent[class] = append(sent[class], known)
			}
		}
	}
	for _, all := range sent {
		inOrder(all)
		for i := 1; i < len(all); i++ {
			a, b := all[i-1], all[i]
			require.False(t, a.at.Before(b.at) && first[b.id].Before(first[a.id]), "%s of %s overtook %s of %s",
				a.id, first[a.id], b.id, first[b.id])
		}
	}
}
