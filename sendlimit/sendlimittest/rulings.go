package sendlimittest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// The policies and settings of CheckMessages, how they change, and the revival of
// dead letters.

// mailboxOptions are the options of every worker.
type mailboxOptions struct {
	sendlimit.Options // completed, except for the rules

	policies []policy.Policy
	users    bool // true if users have settings
}

// drawOptions draws policies under which several messages are late at the same
// time, some for longer than the longest window.
func drawOptions(t *rapid.T, prefix string) mailboxOptions {
	rules := rapid.SampledFrom([][]string{
		{"1/minute", "3/hour"},
		{"1/10m"},
		{"2/minute", "3/calendar_hour"},
		{"6/calendar_day", "1/minute", "4/2h"},
		{"2/20s"},
	}).Draw(t, "rules")
	p, err := policy.Parse("messages", rapid.SampledFrom([]string{"", "Asia/Kolkata", "Europe/Berlin", "America/Santiago"}).Draw(t, "zone"), rules...)
	require.NoError(t, err)
	users, other := rapid.Bool().Draw(t, "settings of users"), p
	other.Name = "other"
	other.Rules = other.Rules[:rapid.IntRange(1, len(rules)).Draw(t, "rules of the other")]
	return mailboxOptions{policies: []policy.Policy{p, other}, users: users, Options: sendlimit.Options{
		Prefix: prefix, Records: true, Subscribers: sendlimit.NewSubscribers(events.DefaultKeep),
		WithoutIndex: rapid.IntRange(0, 3).Draw(t, "without index") == 3,
		Devices:      rapid.Bool().Draw(t, "to devices"),
		KeepContent:  rapid.IntRange(0, 3).Draw(t, "keep content") == 3,
		// The history has its own clock: no record may expire by the server's.
		KeepRecords: 50 * 365 * 24 * time.Hour,
		ExpireAfter: rapid.SampledFrom([]time.Duration{sendlimit.DefaultExpireAfter, 40 * time.Minute}).Draw(t, "expire after"),
		// Most histories make more moves of a message than that.
		MovesPerMinute: rapid.SampledFrom([]int{sendlimit.DefaultMovesPerMinute, 1, 2}).Draw(t, "moves per minute"),

		Tolerance:     rapid.SampledFrom([]time.Duration{sendlimit.DefaultTolerance, 45 * time.Second}).Draw(t, "tolerance"),
		Attempts:      rapid.SampledFrom([]int{sendlimit.DefaultAttempts, 2}).Draw(t, "attempts"),
		SettleWithin:  rapid.SampledFrom([]time.Duration{0, 0, 4 * time.Second}).Draw(t, "settle within"),
		SkipUncertain: rapid.IntRange(0, 2).Draw(t, "skip uncertain") == 2,
		Horizon:       rapid.SampledFrom([]time.Duration{sendlimit.DefaultHorizon, 20 * time.Minute, 5 * time.Second}).Draw(t, "horizon"),
		LookAfter:     rapid.SampledFrom([]time.Duration{sendlimit.DefaultLookAfter, 3 * time.Second}).Draw(t, "look after"),
		OverdueAfter:  sendlimit.DefaultOverdueAfter,
	}}
}

// follow makes all workers and the model judge by the options, and draws the
// current worker.
func (m *mailbox) follow(t *rapid.T) {
	require.NoError(t, m.model.Follow(slices.Clone(m.options.policies)...))
	for i := range m.workers {
		w, o := &m.workers[i], m.options.Options
		w.rules.Remember(time.Duration(m.model.remembered) * time.Millisecond)
		require.NoError(t, w.rules.Replace(m.options.policies...))
		o.Rules = w.rules
		var err error
		if w.timeline == nil {
			w.timeline, err = sendlimit.NewTimeline(m.client, o)
			require.NoError(t, err)
		}
		w.gate, err = messages.NewGate(m.client, o)
		require.NoError(t, err)
		w.watch, err = messages.NewWatchList(m.client, o)
		require.NoError(t, err)
		w.letters, err = messages.NewDeadLetters(m.client, o)
		require.NoError(t, err)
	}
	m.worker = m.workers[rapid.IntRange(0, len(m.workers)-1).Draw(t, "worker")]
}

// changePolicy changes the quiet hours and categories of a policy, and perhaps its
// limits. Windows stay.
func (m *mailbox) changePolicy(t *rapid.T) {
	p := &m.options.policies[0]
	if len(m.options.policies) > 1 && rapid.Bool().Draw(t, "the other policy") {
		p = &m.options.policies[1]
	}
	m.regulate(t, p)
	p.UserTimeZone = rapid.Bool().Draw(t, "user's time zone")
	if rapid.Bool().Draw(t, "limits") {
		rules := make([]policy.Rule, len(p.Rules))
		for i, r := range p.Rules {
			r.Limit = r.Limit%maxLimit + 1
			rules[i] = r
		}
		p.Rules = rules
	}
	require.NoError(t, p.Validate())
	m.follow(t)
}

// regulate draws the quiet hours and categories of a policy. Its longest window
// stays.
func (m *mailbox) regulate(t *rapid.T, p *policy.Policy) {
	drawn := drawnPolicies{categories: true, start: m.now}
	for i := range windows {
		r, err := policy.ParseRule("1/" + windows[i])
		require.NoError(t, err)
		alone := policy.Policy{Rules: []policy.Rule{r}}
		if alone.LargestWindow() <= p.LargestWindow() {
			drawn.longest = i
		}
	}
	p.Categories, p.UnknownCategories = drawn.drawCategories(t), drawUnknownCategories(t)
	drawn.drawQuiet(t, p)
	p.Changes = drawn.drawChanges(t, *p)
}

// changeSettings sets or clears the user's settings. They take effect immediately.
func (m *mailbox) changeSettings(t *rapid.T) {
	if !m.options.users {
		return
	}
	s := drawSettings(t, m.now, m.options.policies...)
	if rapid.Bool().Draw(t, "clear") {
		s = policy.UserSettings{}
	}
	require.NoError(t, m.settings.Set(t.Context(), mailboxUser, s))
	require.NoError(t, m.model.Set(mailboxUser, s))
	m.worker = m.workers[rapid.IntRange(0, len(m.workers)-1).Draw(t, "worker")]
}

// revive retries a dead letter.
func (m *mailbox) revive(t *rapid.T) {
	m.retry(t, m.drawKnown(t, (*message).deadLetter))
}

// retry retries a message, if it is a dead letter.
func (m *mailbox) retry(t *rapid.T, id string) {
	r := messages.RetryRequest{User: mailboxUser, ID: id, Generation: m.newToken("g"), Now: m.now}
	want := m.expectRevival(m.messages[id], r.Generation)
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.letters.Retry(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
	}
}

// expectRevival returns the expected answer to a retry and updates the model.
func (m *mailbox) expectRevival(known *message, generation string) sendlimit.Decision {
	g := m.model.regime(mailboxUser)
	switch {
	case known == nil || !known.deadLetter():
		return sendlimit.Decision{Code: fault.CodeNotFound, Now: m.now}
	case !known.expires.IsZero() && !m.now.Before(known.expires):
		return sendlimit.Decision{Code: fault.CodeExpired, ExpiresAt: known.expires, Now: m.now}
	case g.blocked:
		return sendlimit.Decision{Code: fault.CodeBlocked, Now: m.now}
	case g.optedOut(known.category):
		return sendlimit.Decision{Code: fault.CodeOptedOut, Now: m.now}
	}
	last := cut(m.now) + g.reach
	if !known.expires.IsZero() {
		last = min(last, cut(known.expires)-1)
	}
	others := m.remembered().remove(known.id).counted()
	free, ok := g.nextFree(known.category, others, cut(m.now), last)
	if !ok {
		return sendlimit.Decision{Code: fault.CodeSendLimit, ExpiresAt: known.expires, Now: m.now}
	}
	if known.requested = known.firstRequested(); known.requested.IsZero() {
		known.requested = known.at
	}
	stood := known.at
	known.note(change{letter: known.state.letter(), at: known.ended, attempt: known.attempts, reasons: []string{known.reason}})
	known.note(change{letter: "v", at: m.now, to: moment(free), from: known.at})
	known.doubt = known.state == uncertain
	m.keepFormerPlace(known)
	known.state, known.at, known.promised = pending, moment(free), time.Time{}
	known.notBefore, known.waits, known.ended, known.leaseEnd = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	known.attempts, known.holder, known.reason, known.words, known.reasons = 0, "", "retried", "", nil
	m.note(known, events.Moved, stood, "")
	known.reason = ""
	known.moved = false
	known.beginAnew()
	known.placeless, known.uncounted = false, g.at(free).uncounted[known.category]
	known.renew(generation, m.firstLook(known.at))
	known.far = m.isFar(known.at)
	return sendlimit.Decision{Allowed: true, At: known.at, RequestedAt: known.requested, Now: m.now}
}
