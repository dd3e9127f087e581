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

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// CheckAlerts draws a policy with daily rules and a history of submits, moves,
// cancels, imports, late and failed deliveries, and holds the alerts that the
// scripts raise against Alerts, which is told what the timeline holds after each.
// Contacts, limits and thresholds change on the way. Keys begin with prefix, as
// in CheckHistory.
func CheckAlerts(t *rapid.T, client redis.UniversalClient, prefix string) {
	a := newAlerting(t, client, prefix)
	t.Repeat(map[string]func(*rapid.T){
		"submit":     a.submit,
		"submit ":    a.submit, // more often than the rest
		"submit  ":   a.submit,
		"cancel":     a.cancel,
		"move":       a.move,
		"import":     a.recordSent,
		"be late":    a.deliverLate,
		"revive":     a.revive,
		"contact":    a.setContact,
		"rules":      a.rulesChange,
		"time goes":  a.timeGoes,
		"look at it": a.inspect,
	})
	a.inspect(t)
}

// alerting is a store in which alerts are raised, and what should be there.
type alerting struct {
	client    redis.UniversalClient
	keys      keyspace.Keys
	options   sendlimit.Options
	timeline  *sendlimit.Timeline
	gate      *messages.Gate
	settings  *settings.Users
	model     *Alerts
	now       time.Time
	contact   bool
	pending   map[string]string // id -> generation
	dead      []string          // ids
	made      int
	notices   []string
	collected []string
}

// alertingUser has what a notice id and a key are made of.
const alertingUser = "user:1/2"

func newAlerting(t *rapid.T, client redis.UniversalClient, prefix string) *alerting {
	a := &alerting{
		client: client, now: drawStart(t), pending: make(map[string]string),
		// No record expires by the server's clock while a history runs by its own.
		options: sendlimit.Options{Prefix: prefix, Records: true, KeepRecords: 50 * 365 * 24 * time.Hour},
	}
	var err error
	a.keys, err = keyspace.NewKeys(prefix)
	require.NoError(t, err)
	a.settings, err = settings.NewUsers(client, prefix)
	require.NoError(t, err)
	a.model, err = NewAlerts(policy.Default())
	require.NoError(t, err)
	a.rulesChange(t)
	return a
}

// rulesChange puts other rules, thresholds and an other AlertTo in place.
func (a *alerting) rulesChange(t *rapid.T) {
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
	a.options.Policy = policy
	a.timeline, err = sendlimit.NewTimeline(a.client, a.options)
	require.NoError(t, err)
	a.gate, err = messages.NewGate(a.client, a.options)
	require.NoError(t, err)
	require.NoError(t, a.model.follow(policy))
}

func (a *alerting) setContact(t *rapid.T) {
	a.contact = rapid.Bool().Draw(t, "contact")
	if !a.contact {
		_, err := a.settings.Clear(t.Context(), alertingUser)
		require.NoError(t, err)
		return
	}
	require.NoError(t, a.settings.Set(t.Context(), alertingUser, policy.UserSettings{Contact: "ada@example.org"}))
}

func (a *alerting) token(kind string) string {
	a.made++
	return kind + strconv.Itoa(a.made)
}

func (a *alerting) at(t *rapid.T) time.Time {
	step := rapid.SampledFrom([]time.Duration{time.Minute, 37 * time.Minute, 5 * time.Hour, 24 * time.Hour}).Draw(t, "step")
	return a.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "steps"))*step + time.Millisecond)
}

// anyOf draws a message that is still to come; "" where there is none.
func (a *alerting) anyOf(t *rapid.T) string {
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

// raised compares what a change has raised with what the model says of the
// places that it has taken.
func (a *alerting) raised(t *rapid.T, got []string, taken ...time.Time) {
	held, err := a.timeline.List(t.Context(), sendlimit.ListRequest{User: alertingUser, Now: a.now})
	require.NoError(t, err)
	var want []string
	for _, at := range taken {
		expected := a.model.Taken(alertingUser, at, a.now, held, a.contact)
		if expected.Notice != "" {
			want = append(want, expected.Notice)
		}
		if expected.Gathered != "" {
			a.collected = append(a.collected, expected.Gathered)
		}
	}
	require.Equal(t, want, got, "policy %s, places %v, taken %v", a.options.Policy, held, taken)
	a.notices = append(a.notices, want...)
}

func (a *alerting) submit(t *rapid.T) {
	id := a.token("m")
	r := sendlimit.Request{
		User: alertingUser, ID: id, At: a.at(t), Now: a.now, Shift: rapid.Bool().Draw(t, "shift"),
		Record: &sendlimit.Record{Generation: a.token("g"), Fingerprint: id},
	}
	if rapid.IntRange(0, 3).Draw(t, "now") == 0 {
		r.At = time.Time{}
	}
	d, err := a.timeline.Reserve(t.Context(), r)
	require.NoError(t, err)
	if !d.Allowed {
		require.Empty(t, d.Notices)
		return
	}
	a.pending[id] = r.Record.Generation
	a.raised(t, d.Notices, d.At)
	again, err := a.timeline.Reserve(t.Context(), r)
	require.NoError(t, err)
	require.True(t, again.Allowed)
	require.Empty(t, again.Notices, "once")
}

func (a *alerting) cancel(t *rapid.T) {
	id := a.anyOf(t)
	if id == "" {
		return
	}
	_, err := a.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: alertingUser, ID: id, Now: a.now})
	require.NoError(t, err)
	delete(a.pending, id)
}

func (a *alerting) move(t *rapid.T) {
	id := a.anyOf(t)
	if id == "" {
		return
	}
	r := sendlimit.MoveRequest{User: alertingUser, ID: id, At: a.at(t), Generation: a.token("g"), Now: a.now}
	d, err := a.timeline.Move(t.Context(), r)
	require.NoError(t, err)
	if d.Allowed && !d.At.Equal(d.MovedFrom) {
		a.pending[id] = r.Generation
		a.raised(t, d.Notices, d.At)
	} else {
		require.Empty(t, d.Notices)
	}
}

func (a *alerting) recordSent(t *rapid.T) {
	id := a.token("s")
	recorded, err := a.timeline.RecordSent(t.Context(), sendlimit.SentRequest{
		User: alertingUser, ID: id, Now: a.now,
		At:     a.now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "hours ago")) * time.Hour),
		Record: &sendlimit.Record{Generation: a.token("g"), Fingerprint: id},
	})
	require.NoError(t, err)
	require.Empty(t, recorded.Code)
	if !recorded.Forgotten {
		a.raised(t, recorded.Notices, recorded.At)
	}
}

// deliverLate claims a message after its time, with which all that are late get
// other times, and has it fail where it is sent.
func (a *alerting) deliverLate(t *rapid.T) {
	id := a.anyOf(t)
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
	d := messages.Delivery{User: alertingUser, ID: id, Generation: a.pending[id], Nonce: a.token("n")}
	claim, err := a.gate.Claim(t.Context(), d, time.Minute, a.now)
	require.NoError(t, err)
	placed := claim.Placed
	if claim.Verdict == messages.Send {
		placed = append(placed, messages.Placement{ID: id, At: claim.SendAt, From: stood})
	}
	if claim.Verdict == messages.Send || claim.Verdict == messages.Dropped {
		delete(a.pending, id)
	}
	for _, drop := range claim.Dropped {
		delete(a.pending, drop.ID)
	}
	slices.SortFunc(placed, func(a, b messages.Placement) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.ID, b.ID))
	})
	var taken []time.Time
	for _, p := range placed {
		taken = append(taken, p.At)
		if p.ID != id || claim.Verdict == messages.Postponed {
			a.pending[p.ID] = p.Generation
		}
	}
	a.raised(t, claim.Notices, taken...)
	if claim.Verdict == messages.Send && rapid.Bool().Draw(t, "fails") {
		settled, err := a.gate.Settle(t.Context(), d, messages.Settlement{Failed: true, Reason: "no"}, a.now)
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
	r := messages.RetryRequest{User: alertingUser, ID: id, Generation: a.token("g"), Now: a.now}
	d, err := letters.Retry(t.Context(), r)
	require.NoError(t, err)
	if !d.Allowed {
		require.Empty(t, d.Notices)
		return
	}
	a.dead = a.dead[1:]
	a.pending[id] = r.Generation
	a.raised(t, d.Notices, d.At)
}

func (a *alerting) timeGoes(t *rapid.T) {
	a.now = a.now.Add(rapid.SampledFrom([]time.Duration{
		time.Second, time.Minute, time.Hour, 13 * time.Hour, 2 * 24 * time.Hour,
	}).Draw(t, "step"))
}

// inspect looks at all that the store has of alerts.
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
		// The embedded store counts down by another clock than it tells.
		require.InDelta(t, want.expires, expires.Milliseconds(), 60_000, "30 hours past the end of its day")
	}
}
