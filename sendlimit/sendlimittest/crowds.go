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
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// crowd is a user with many more reservations than the rules allow, most of them of
// one category, in clusters and at equal times.
type crowd struct {
	client   redis.UniversalClient
	keys     keyspace.Keys
	timeline *sendlimit.Timeline
	model    *Model
	policy   policy.Policy
	now      time.Time
	spread   time.Duration
	places   timeline
}

const crowdUser = "alice"

// CheckCrowd compares answers for one user who has many reservations with those of a
// Model. It needs a prefix of its own.
func CheckCrowd(t *rapid.T, client redis.UniversalClient, prefix string) {
	c := newCrowd(t, client, prefix)
	for n := range 12 {
		user, id, at := crowdUser, fmt.Sprintf("n%d", n), c.drawTime(t)
		category := rapid.SampledFrom(historyCategories).Draw(t, "category")
		r := sendlimit.Request{User: user, ID: id, At: at, Category: category, Now: c.now}
		r.Record = &sendlimit.Record{Generation: "g" + id, Category: category, Fingerprint: id}
		switch rapid.IntRange(0, 7).Draw(t, "action") {
		case 0:
			r.Shift = rapid.Bool().Draw(t, "shift")
			r.WithoutFreeTimes = !r.Shift && rapid.Bool().Draw(t, "without free times")
			got, err := c.timeline.Check(t.Context(), r)
			c.requireEqual(t, r, c.model.Check(r), got, err)
		case 1:
			r.Shift = true
			got, err := c.timeline.Reserve(t.Context(), r)
			c.requireEqual(t, r, c.model.Reserve(r), got, err)
			if got.Allowed {
				c.places = c.places.add(entry{at: cut(got.At), id: id, category: category, uncounted: c.model.common.uncounted[category]})
			}
		case 6, 7:
			c.reserveMany(t, r)
		case 2, 3:
			c.move(t, sendlimit.MoveRequest{User: user, At: at, Generation: "g" + id, Now: c.now})
		case 4:
			r := sendlimit.NextFreeRequest{User: user, From: at, Category: category, Count: 3, Now: c.now}
			got, err := c.timeline.NextFree(t.Context(), r)
			c.requireEqual(t, r, c.model.NextFree(r), got, err)
		default:
			r := sendlimit.UsageRequest{User: user, At: at, Category: category, Now: c.now}
			if rapid.Bool().Draw(t, "span") {
				r.From = c.drawTime(t)
				r.To = r.From.Add(1 + min(c.spread, sendlimit.MaxUsageSpan-1)*time.Duration(rapid.IntRange(0, 100).Draw(t, "percent"))/100)
			}
			got, err := c.timeline.Usage(t.Context(), r)
			c.requireEqual(t, r, c.model.Usage(r), got, err)
		}
	}
	c.inspect(t)
}

func newCrowd(t *rapid.T, client redis.UniversalClient, prefix string) *crowd {
	drawn := drawPolicies(t, true)
	c := &crowd{client: client, now: drawn.start, policy: drawn.draw(t, "crowded")}
	c.policy.Reach, c.policy.UnknownCategories = 0, policy.AllowUnknown
	c.spread = min(max(c.policy.LargestWindow(), time.Second)*time.Duration(rapid.IntRange(1, 6).Draw(t, "windows")), 100*24*time.Hour)
	for _, rules := range [][]policy.Rule{c.policy.Rules, c.policy.Categories["marketing"].Rules} {
		for i := range rules { // rules that differ still differ
			rules[i].Limit += rapid.SampledFrom([]int{0, 0, 0, 12, 40}).Draw(t, "limit more")
		}
	}
	rules, err := sendlimit.NewRules(c.policy)
	require.NoError(t, err)
	bound := rapid.SampledFrom([]int{0, 0, 5, 20, 80}).Draw(t, "places per day")
	c.timeline, err = sendlimit.NewTimeline(client, sendlimit.Options{
		Prefix: prefix, Records: true, Rules: rules, PlacesPerDay: bound, MovesPerMinute: 1000,
	})
	require.NoError(t, err)
	c.keys, err = keyspace.NewKeys(prefix)
	require.NoError(t, err)
	c.model, err = NewModel(c.policy, policy.DefaultReach)
	require.NoError(t, err)
	require.NoError(t, c.model.BoundPlaces(bound))
	c.fill(t)
	return c
}

// fill writes the places and their records, as other rules may have let them come.
func (c *crowd) fill(t *rapid.T) {
	most := rapid.SampledFrom([]int{10, 60, 60, 250}).Draw(t, "places")
	random := rapid.SliceOfN(rapid.IntRange(0, 1<<20), most, most).Draw(t, "times")
	even := rapid.Bool().Draw(t, "even")
	_, err := c.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for i, n := range random {
			category := []string{"news", "news", "news", "news", "", "marketing", "otp"}[n%7]
			after := time.Duration(float64(c.spread) * float64(n) / (1 << 20))
			switch {
			case even:
				after = c.spread * time.Duration(i) / time.Duration(most)
			case n%3 == 0: // many at one time
				after = c.spread * time.Duration(n%4) / 4
			}
			e := entry{at: cut(c.now.Add(after)), id: fmt.Sprintf("m%d", i), category: category, uncounted: c.model.common.uncounted[category]}
			c.places = c.places.add(e)
			place, key := redis.Z{Score: float64(e.at), Member: e.id}, c.keys.Timeline(crowdUser)
			fields := []any{"g", "g" + e.id, "t", e.at, "f", e.id}
			if category != "" {
				fields = append(fields, "k", category)
			}
			if e.uncounted {
				key, fields = c.keys.Uncounted(crowdUser), append(fields, "z", 1)
			} else if category != "" {
				pipe.ZAdd(t.Context(), c.keys.Category(crowdUser, category), place)
			}
			pipe.ZAdd(t.Context(), key, place)
			pipe.HSet(t.Context(), c.keys.Record(crowdUser, e.id), fields...)
		}
		return nil
	})
	require.NoError(t, err)
	c.model.users[crowdUser] = c.places
}

// reserveMany asks for places near each other in one call, and for those that it leaves one by one.
func (c *crowd) reserveMany(t *rapid.T, first sendlimit.Request) {
	requests := []sendlimit.Request{first}
	for i := range rapid.IntRange(1, sendlimit.MaxReserveMany-1).Draw(t, "more") {
		r := first
		r.ID = fmt.Sprintf("%s-%d", first.ID, rapid.IntRange(i, i+1).Draw(t, "number")) // maybe one of before
		switch rapid.IntRange(0, 3).Draw(t, "near") {
		case 0:
			r.At = c.drawTime(t)
		case 1:
			r.At = first.At
		default:
			r.At = first.At.Add(time.Duration(rapid.Int64Range(0, int64(c.policy.LargestWindow())).Draw(t, "after")))
		}
		r.WithoutFreeTimes = rapid.Bool().Draw(t, "without free times")
		r.Record = &sendlimit.Record{Generation: fmt.Sprintf("g%s-%d", first.ID, i), Category: r.Category, Fingerprint: r.ID}
		requests = append(requests, r)
	}
	decisions, err := c.timeline.ReserveMany(t.Context(), requests)
	require.NoError(t, err)
	for i, r := range requests {
		if i == len(decisions) {
			d, err := c.timeline.Reserve(t.Context(), r)
			require.NoError(t, err)
			decisions = append(decisions, d)
		}
		if held, known := c.model.users[crowdUser].find(r.ID); known {
			c.requireEqual(t, r, sendlimit.Decision{Allowed: true, Replayed: true, At: moment(held.at), Now: c.now}, decisions[i], nil)
			continue
		}
		c.requireEqual(t, r, c.model.Reserve(r), decisions[i], nil)
		if decisions[i].Allowed {
			c.places = c.places.add(entry{at: cut(r.At), id: r.ID, category: r.Category, uncounted: c.model.common.uncounted[r.Category]})
		}
	}
}

// drawTime draws a time among the places or after them, often near one.
func (c *crowd) drawTime(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "near a place") {
		e := rapid.SampledFrom(c.places).Draw(t, "place")
		at := moment(e.at).Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "edge")) * time.Millisecond)
		return at.Add(max(0, c.now.Sub(at)))
	}
	return c.now.Add(c.spread * time.Duration(rapid.IntRange(0, 1200).Draw(t, "permille")) / 1000)
}

func (c *crowd) move(t *rapid.T, r sendlimit.MoveRequest) {
	moved := rapid.SampledFrom(c.places).Draw(t, "moved")
	r.ID = moved.id
	got, err := c.timeline.Move(t.Context(), r)
	got.Superseded = sendlimit.Timer{} // CheckMessages compares it
	want := c.model.Move(r)
	c.requireEqual(t, r, want, got, err)
	if want.Code == "" || want.Code == fault.CodeNotFound {
		held, ok := c.model.users[crowdUser].find(r.ID)
		require.True(t, ok)
		c.places = c.places.remove(r.ID).add(held)
	}
}

func (c *crowd) requireEqual(t *rapid.T, request, want, got any, err error) {
	require.NoError(t, err, "%+v", request)
	require.Equal(t, want, got, "policy %s\nrequest %+v\nplaces %+v", c.policy, request, c.places)
}

// inspect requires that the set of each category has the category's places in the timeline.
func (c *crowd) inspect(t *rapid.T) {
	counted := c.model.users[crowdUser].counted()
	requireSet(t, c.client, c.keys.Timeline(crowdUser), counted)
	for _, category := range historyCategories[1:] {
		requireSet(t, c.client, c.keys.Category(crowdUser, category), counted.ofCategory(category))
	}
}

// requireSet requires that a sorted set has all these places and no other.
func requireSet(t *rapid.T, client redis.UniversalClient, key string, want timeline) {
	members, err := client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
	require.NoError(t, err)
	var got []string
	for _, m := range members {
		got = append(got, fmt.Sprint(m.Member, " ", int64(m.Score)))
	}
	var places []string
	for _, e := range want {
		places = append(places, fmt.Sprint(e.id, " ", e.at))
	}
	slices.Sort(got)
	slices.Sort(places)
	require.Equal(t, places, got, key)
}
