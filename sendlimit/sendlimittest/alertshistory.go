package sendlimittest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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

// CheckAlerts runs a random history of submits, moves, cancels, imports, late and
// failed deliveries under a policy with daily rules. It compares the alerts that
// the scripts raise with those of Alerts. Contacts, limits and thresholds change
// meanwhile. Keys begin with prefix, as in CheckHistory.
func CheckAlerts(t *rapid.T, client redis.UniversalClient, prefix string) {
	a := newAlerting(t, client, prefix)
	t.Repeat(map[string]func(*rapid.T){
		"submit":     a.submit,
		"submit ":    a.submit, // three times as often as others
		"submit  ":   a.submit,
		"cancel":     a.cancel,
		"move":       a.move,
		"import":     a.recordSent,
		"be late":    a.deliverLate,
		"revive":     a.revive,
		"contact":    a.setContact,
		"rules":      a.changeRules,
		"time goes":  a.passTime,
		"look at it": a.inspect,
	})
	a.inspect(t)
}

// alerting is a store with alerts, and the model of them.
type alerting struct {
	client    redis.UniversalClient
	keys      keyspace.Keys
	options   sendlimit.Options
	policy    policy.Policy
	timeline  *sendlimit.Timeline
	gate      *messages.Gate
	settings  *settings.Users
	model     *Alerts
	now       time.Time
	contact   bool
	pending   map[string]string // id -> generation
	dead      []string          // ids
	tokens    int
	notices   []string
	collected []string
}

// alertingUser contains the separators of notice ids and of keys.
const alertingUser = "user:1/2"

func newAlerting(t *rapid.T, client redis.UniversalClient, prefix string) *alerting {
	a := &alerting{
		client: client, now: drawStart(t), pending: make(map[string]string),
		// The history has its own clock: no record may expire by the server's.
		options: sendlimit.Options{Prefix: prefix, Records: true, KeepRecords: 50 * 365 * 24 * time.Hour, MovesPerMinute: 1000},
	}
	var err error
	a.keys, err = keyspace.NewKeys(prefix)
	require.NoError(t, err)
	a.settings = settings.NewUsers(client, keyspace.KeysUnder(prefix))
	a.model, err = NewAlerts(policy.Default())
	require.NoError(t, err)
	a.options.Rules, err = judge.NewFixed()
	require.NoError(t, err)
	a.timeline, err = sendlimit.NewTimeline(client, a.options)
	require.NoError(t, err)
	a.gate, err = messages.NewGate(client, a.options)
	require.NoError(t, err)
	a.changeRules(t)
	return a
}

// changeRules draws new rules, thresholds and AlertTo.
func (a *alerting) changeRules(t *rapid.T) {
	rules := rapid.SampledFrom([][]string{
		{"10/calendar_day"},
		{"5/day"},
		{"4/calendar_day", "6/day"},
		{"1/calendar_day"}, // both thresholds at once
		{"3/minute", "8/calendar_day", "20/week"},
		{"3/day", "20/calendar_day"},
		{"4/hour"}, // no daily rule
	}).Draw(t, "rules")
	policy, err := policy.Parse("drawn", rapid.SampledFrom(historyZones).Draw(t, "zone"), rules...)
	require.NoError(t, err)
	policy.AlertAt = rapid.SampledFrom([][]int{nil, nil, {50, 70, 100}, {1}, {}}).Draw(t, "alert at")
	policy.AlertTo = rapid.SampledFrom([]string{"", "ops@example.com"}).Draw(t, "alert to")
	require.NoError(t, policy.Validate())
	a.policy = policy
	require.NoError(t, a.options.Rules.Replace(policy))
	require.NoError(t, a.model.follow(policy))
}

func (a *alerting) setContact(t *rapid.T) {
	a.contact = rapid.Bool().Draw(t, "contact")
	if !a.contact {
		err := a.settings.Clear(t.Context(), alertingUser)
		require.NoError(t, err)
		return
	}
	require.NoError(t, a.settings.Set(t.Context(), alertingUser, policy.UserSettings{Contact: "ada@example.org"}))
}

func (a *alerting) newToken(kind string) string {
	a.tokens++
	return kind + strconv.Itoa(a.tokens)
}

func (a *alerting) drawTime(t *rapid.T) time.Time {
	step := rapid.SampledFrom([]time.Duration{time.Minute, 37 * time.Minute, 5 * time.Hour, 24 * time.Hour}).Draw(t, "step")
	return a.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "steps"))*step + time.Millisecond)
}

// drawPending draws the id of a pending message. It is "" if there is none.
func (a *alerting) drawPending(t *rapid.T) string {
	ids := make([]string, 0, len(a.pending))
	for id := range a.pending {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "id")
}

// requireRaised compares the alerts of a change with the model's, given the
// places that the change has taken.
func (a *alerting) requireRaised(t *rapid.T, got []string, taken ...time.Time) {
	held, err := a.timeline.List(t.Context(), sendlimit.ListRequest{User: alertingUser, Now: a.now})
	require.NoError(t, err)
	var want []string
	for _, at := range taken {
		expected := a.model.Take(alertingUser, at, a.now, held, a.contact)
		if expected.Notice != "" {
			want = append(want, expected.Notice)
		}
		if expected.Gathered != "" {
			a.collected = append(a.collected, expected.Gathered)
		}
	}
	require.Equal(t, want, got, "policy %s, places %v, taken %v", a.policy, held, taken)
	a.notices = append(a.notices, want...)
}

func (a *alerting) submit(t *rapid.T) {
	id := a.newToken("m")
	r := sendlimit.Request{
		User: alertingUser, ID: id, At: a.drawTime(t), Now: a.now, Shift: rapid.Bool().Draw(t, "shift"),
		Record: &sendlimit.Record{Generation: a.newToken("g"), Fingerprint: id},
	}
	if rapid.IntRange(0, 3).Draw(t, "now") == 0 {
		r.At = time.Time{}
	}
	decisions, err := a.timeline.ReserveMany(t.Context(), []sendlimit.Request{r}[:rapid.IntRange(0, 1).Draw(t, "many")])
	require.NoError(t, err)
	if len(decisions) == 0 {
		d, err := a.timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		decisions = append(decisions, d)
	}
	d := decisions[0]
	if !d.Allowed {
		require.Empty(t, d.Notices)
		return
	}
	a.pending[id] = r.Record.Generation
	a.requireRaised(t, d.Notices, d.At)
	again, err := a.timeline.Reserve(t.Context(), r)
	require.NoError(t, err)
	require.True(t, again.Allowed)
	require.Empty(t, again.Notices, "once")
}

func (a *alerting) cancel(t *rapid.T) {
	id := a.drawPending(t)
	if id == "" {
		return
	}
	_, err := a.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: alertingUser, ID: id, Now: a.now})
	require.NoError(t, err)
	delete(a.pending, id)
}

func (a *alerting) move(t *rapid.T) {
	id := a.drawPending(t)
	if id == "" {
		return
	}
	r := sendlimit.MoveRequest{User: alertingUser, ID: id, At: a.drawTime(t), Generation: a.newToken("g"), Now: a.now}
	d, err := a.timeline.Move(t.Context(), r)
	require.NoError(t, err)
	if d.Allowed && !d.At.Equal(d.MovedFrom) {
		a.pending[id] = r.Generation
		a.requireRaised(t, d.Notices, d.At)
	} else {
		require.Empty(t, d.Notices)
	}
}

func (a *alerting) recordSent(t *rapid.T) {
	id := a.newToken("s")
	recorded, err := a.timeline.RecordSent(t.Context(), sendlimit.SentRequest{
		User: alertingUser, ID: id, Now: a.now,
		At:     a.now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "hours ago")) * time.Hour),
		Record: &sendlimit.Record{Generation: a.newToken("g"), Fingerprint: id},
	})
	require.NoError(t, err)
	require.Empty(t, recorded.Code)
	if !recorded.Forgotten {
		a.requireRaised(t, recorded.Notices, recorded.At)
	}
}

// deliverLate claims a message after its time. All late messages get other times
// then. If the message is to be sent, the delivery may fail.
func (a *alerting) deliverLate(t *rapid.T) {
	id := a.drawPending(t)
	if id == "" {
		return
	}
	places, err := a.timeline.List(t.Context(), sendlimit.ListRequest{User: alertingUser, Now: a.now})
	require.NoError(t, err)
	i := slices.IndexFunc(places, func(r keyspace.Reservation) bool { return r.ID == id })
	require.GreaterOrEqual(t, i, 0)
	stood := places[i].At
	if late := stood.Add(time.Hour); late.After(a.now) {
		a.now = late
	}
	d := messages.Delivery{User: alertingUser, ID: id, Generation: a.pending[id], Nonce: a.newToken("n")}
	claim, err := a.gate.Claim(t.Context(), d, time.Minute, a.now)
	require.NoError(t, err)
	placed := claim.Placed
	if claim.Verdict == messages.Send {
		placed = append(placed, messages.Placement{Timer: sendlimit.Timer{ID: id, Due: claim.SendAt}, From: stood})
	}
	if claim.Verdict == messages.Send || claim.Verdict == messages.Dropped {
		delete(a.pending, id)
	}
	for _, drop := range claim.Dropped {
		delete(a.pending, drop.ID)
	}
	promised := make(map[string]int64)
	for _, p := range placed {
		promised[p.ID] = p.From.UnixMilli()
		if first, err := a.client.HGet(t.Context(), a.keys.Record(alertingUser, p.ID), keyspace.RecordPromised).Int64(); err == nil {
			promised[p.ID] = first // it was late before
		}
	}
	slices.SortFunc(placed, func(a, b messages.Placement) int {
		return cmp.Or(cmp.Compare(promised[a.ID], promised[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	var taken []time.Time
	for _, p := range placed {
		taken = append(taken, p.Due)
		if p.ID != id || claim.Verdict == messages.Postponed {
			a.pending[p.ID] = p.Generation
		}
	}
	a.requireRaised(t, claim.Notices, taken...)
	if claim.Verdict == messages.Send && rapid.Bool().Draw(t, "fails") {
		settled, err := a.gate.Settle(t.Context(), d, messages.Settlement{Outcome: messages.Failed, Reason: "no"}, a.now)
		require.NoError(t, err)
		require.True(t, settled)
		a.dead = append(a.dead, id)
	}
}

func (a *alerting) revive(t *rapid.T) {
	if len(a.dead) == 0 {
		return
	}
	letters, err := messages.NewDeadLetters(a.client, a.options)
	require.NoError(t, err)
	id := a.dead[0]
	r := messages.RetryRequest{User: alertingUser, ID: id, Generation: a.newToken("g"), Now: a.now}
	d, err := letters.Retry(t.Context(), r)
	require.NoError(t, err)
	if !d.Allowed {
		require.Empty(t, d.Notices)
		return
	}
	a.dead = a.dead[1:]
	a.pending[id] = r.Generation
	a.requireRaised(t, d.Notices, d.At)
}

func (a *alerting) passTime(t *rapid.T) {
	a.now = a.now.Add(rapid.SampledFrom([]time.Duration{
		time.Second, time.Minute, time.Hour, 13 * time.Hour, 2 * 24 * time.Hour,
	}).Draw(t, "step"))
}

// inspect compares the store with the model.
func (a *alerting) inspect(t *rapid.T) {
	p := keyspace.Partition(alertingUser)
	for key, want := range map[string][]string{a.keys.Notices(p): a.notices, a.keys.Gathered(p): a.collected} {
		got, err := a.client.ZRange(t.Context(), key, 0, -1).Result()
		require.NoError(t, err)
		require.ElementsMatch(t, want, got, key)
	}
	for _, id := range a.notices {
		fields, err := a.client.HGetAll(t.Context(), a.keys.Notice(alertingUser, id)).Result()
		require.NoError(t, err)
		require.Equal(t, id, fmt.Sprintf("%s/%s/%s/%s", fields["k"], fields["d"], fields["h"], fields["s"]))
		require.Contains(t, fields["x"], `"policy":"drawn"`)
	}
	for _, want := range a.model.flags {
		key := a.keys.Alert(keyspace.AlertOfUser, alertingUser, want.from)
		got, err := a.client.Get(t.Context(), key).Int()
		require.NoError(t, err)
		require.Equal(t, want.threshold, got)
		expires, err := a.client.PExpireTime(t.Context(), key).Result()
		require.NoError(t, err)
		// The embedded store expires keys by another clock than it shows.
		require.InDelta(t, want.expires, expires.Milliseconds(), 60_000, "30 hours past the end of its day")
	}
}
