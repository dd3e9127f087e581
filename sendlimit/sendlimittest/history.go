package sendlimittest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// CheckHistory draws policies, runs a random history of requests on Timelines and
// on a Model, and compares every answer. Policies and users' settings change
// meanwhile. There are two processes, each with its own cache of settings. Keys
// begin with prefix, which no other history may use. Call it from rapid.Check.
//
// Half of the histories have records and categories.
//
// The clock of a history is decades ahead, so that no key expires by the server's
// clock.
func CheckHistory(t *rapid.T, client redis.UniversalClient, prefix string) {
	h := newHistory(t, client, prefix)
	t.Repeat(map[string]func(*rapid.T){
		"reserve":   h.reserve,
		"reserve ":  h.reserve, // three times as often as others
		"reserve  ": h.reserve,
		"check":     h.check,
		"release":   h.release,
		"move":      h.move,
		"next free": h.nextFree,
		"list":      h.list,
		"usage":     h.usage,
		"time goes": h.passTime,
		"policies":  h.changePolicy,
		"settings":  h.changeSettings,
		"keys":      h.inspectKeys,
	})
}

// history is Timelines and their Model.
type history struct {
	client      redis.UniversalClient
	keys        keyspace.Keys
	settings    *settings.Users
	records     bool                // in addition to the places
	users       bool                // true if users have settings
	rules       [2]*sendlimit.Rules // for each process
	process     [2]*sendlimit.Timeline
	model       *Model
	drawn       drawnPolicies
	policies    []policy.Policy
	now         time.Time
	times       []time.Time // of the requests and answers so far
	messages    map[string]*booked
	generations int // so far
}

// booked is the expected state of a message with a record.
type booked struct {
	entry

	request   string // fingerprint
	attempt   string // under which it was charged last; "" for none
	requested time.Time
	shifted   bool
	cancelled bool
}

const historyUsers = 2

func newHistory(t *rapid.T, client redis.UniversalClient, prefix string) *history {
	records, users := rapid.Bool().Draw(t, "records"), rapid.Bool().Draw(t, "settings of users")
	h := &history{
		client: client, records: records, users: users, drawn: drawPolicies(t, records), messages: make(map[string]*booked),
	}
	h.now = h.drawn.start
	h.policies = []policy.Policy{h.drawn.draw(t, "drawn")}
	h.drawn.begun = true
	if users {
		h.policies = append(h.policies, h.drawn.draw(t, "other"))
	}
	reach := rapid.SampledFrom([]time.Duration{policy.DefaultReach, 2 * time.Hour}).Draw(t, "reach")
	bound := rapid.SampledFrom([]int{0, 0, 2, 4}).Draw(t, "places per day")
	var err error
	for i := range h.process {
		if h.rules[i], err = judge.NewFixed(h.policies...); users {
			h.rules[i], err = sendlimit.NewRules(h.policies...)
		}
		require.NoError(t, err)
		h.process[i], err = sendlimit.NewTimeline(client, sendlimit.Options{
			Prefix: prefix, Reach: reach, PlacesPerDay: bound, Records: records, Rules: h.rules[i], KeepRecords: 50 * 365 * 24 * time.Hour,
			MovesPerMinute: 1000,
		})
		require.NoError(t, err)
	}
	h.keys, err = keyspace.NewKeys(prefix)
	require.NoError(t, err)
	h.settings = settings.NewUsers(client, keyspace.KeysUnder(prefix))
	h.model, err = NewModel(h.policies[0], reach)
	require.NoError(t, err)
	require.NoError(t, h.model.BoundPlaces(bound))
	h.follow(t)
	return h
}

// follow makes the processes and the model judge by the policies.
func (h *history) follow(t *rapid.T) {
	require.NoError(t, h.model.Follow(h.policies...))
	for _, rules := range h.rules {
		rules.Remember(time.Duration(h.model.remembered) * time.Millisecond)
		require.NoError(t, rules.Replace(h.policies...))
	}
}

// drawProcess draws a process and returns its timeline.
func (h *history) drawProcess(t *rapid.T) *sendlimit.Timeline {
	return h.process[rapid.IntRange(0, len(h.process)-1).Draw(t, "process")]
}

func (h *history) drawUser(t *rapid.T) string {
	return "user:" + strconv.Itoa(rapid.IntRange(1, historyUsers).Draw(t, "user"))
}

func (h *history) drawID(t *rapid.T) string {
	return "m" + strconv.Itoa(rapid.IntRange(1, 25).Draw(t, "id"))
}

// drawHeld draws an id, mostly of a reservation.
func (h *history) drawHeld(t *rapid.T, user string) string {
	if all := h.listed(user); len(all) > 0 && rapid.IntRange(0, 3).Draw(t, "any other") < 3 {
		return rapid.SampledFrom(all).Draw(t, "held").id
	}
	return h.drawID(t)
}

// drawCategory draws a category. It is "" without records.
func (h *history) drawCategory(t *rapid.T) string {
	if !h.records {
		return ""
	}
	return rapid.SampledFrom(historyCategories).Draw(t, "category")
}

func (h *history) passTime(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, 30 * time.Second, time.Minute, time.Hour, 13 * time.Hour, 8 * 24 * time.Hour,
	}).Draw(t, "step")
	later := h.now.Add(step)
	if len(h.times) > 0 && rapid.IntRange(0, 2).Draw(t, "until a place is forgotten") == 0 {
		edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
		at := rapid.SampledFrom(h.times).Draw(t, "place")
		later = at.Add(time.Duration(h.model.remembered)*time.Millisecond + edge)
	}
	if later.After(h.now) {
		h.now = later
	}
}

// changePolicy changes every limit of a policy, up or down, or replaces the
// policy. Reservations stay, even if windows are overfull then, or places in
// quiet hours.
func (h *history) changePolicy(t *rapid.T) {
	i := rapid.IntRange(0, len(h.policies)-1).Draw(t, "policy")
	p := h.policies[i]
	if rapid.Bool().Draw(t, "limits only") {
		turn := rapid.IntRange(1, maxLimit-1).Draw(t, "turn")
		p.Rules = slices.Clone(p.Rules)
		for i, r := range p.Rules { // rules that differ still differ
			p.Rules[i].Limit = (r.Limit-1+turn)%maxLimit + 1
		}
	} else {
		p = h.drawn.draw(t, p.Name)
	}
	h.policies[i] = p
	h.follow(t)
}

// changeSettings sets or clears a user's settings. They take effect immediately
// in all processes.
func (h *history) changeSettings(t *rapid.T) {
	if !h.users {
		return
	}
	user := h.drawUser(t)
	if rapid.IntRange(0, 3).Draw(t, "clear") == 0 {
		err := h.settings.Clear(t.Context(), user)
		require.NoError(t, err)
		require.NoError(t, h.model.Set(user, policy.UserSettings{}))
		return
	}
	s := drawSettings(t, h.now, h.policies...)
	require.NoError(t, h.settings.Set(t.Context(), user, s))
	require.NoError(t, h.model.Set(user, s))
}

// inspectKeys requires that a user's keys have the expected places, and expire,
// but not before their last reservation is forgotten.
func (h *history) inspectKeys(t *rapid.T) {
	user := h.drawUser(t)
	places := h.model.remember(user, cut(h.now))
	h.inspectKey(t, h.keys.Timeline(user), places.counted())
	for _, category := range historyCategories[1:] {
		h.inspectKey(t, h.keys.Category(user, category), places.counted().ofCategory(category))
	}
	h.inspectKey(t, h.keys.Uncounted(user), slices.DeleteFunc(slices.Clone(places), func(e entry) bool { return !e.uncounted }))
}

func (h *history) inspectKey(t *rapid.T, key string, held timeline) {
	members, err := h.client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
	require.NoError(t, err)
	found := make(map[string]time.Time)
	for _, member := range members {
		found[fmt.Sprint(member.Member)] = moment(int64(member.Score))
	}
	for _, e := range held {
		require.Equal(t, moment(e.at), found[e.id], "%s in %s", e.id, key)
	}
	if len(members) == 0 {
		return
	}
	expires, err := h.client.PExpireTime(t.Context(), key).Result()
	require.NoError(t, err)
	require.Positive(t, expires, "it expires")
	if len(held) > 0 {
		require.GreaterOrEqual(t, expires.Milliseconds(), held[len(held)-1].at+h.model.remembered)
	}
}
