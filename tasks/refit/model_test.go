package refit_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// refitModel finds misfits by plain counting.
type refitModel struct {
	policy policy.Policy
	zone   *time.Location
	now    time.Time
}

// placed is a message that stays.
type placed struct {
	category string
	at       time.Time
}

// misfits lists the misfits among a user's messages, like summarize.
func (m refitModel) misfits(messages []scheduled) []string {
	slices.SortFunc(messages, func(a, b scheduled) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	var stay []placed
	judged := make([]bool, len(messages))
	for i, s := range messages {
		judged[i] = s.at.After(m.now) && !m.policy.Categories[s.category].Exempt
		if !judged[i] {
			stay = append(stay, placed{s.category, s.at})
		}
	}
	var found []string
	for i, s := range messages {
		if !judged[i] {
			continue
		}
		if rule := m.broken(stay, s); rule != "" {
			found = append(found, s.id+" "+rule)
		} else {
			stay = append(stay, placed{s.category, s.at})
		}
	}
	return found
}

// broken returns the rules that a message would break beside those that stay.
func (m refitModel) broken(stay []placed, s scheduled) string {
	if m.policy.QuietHours.Contains(s.at.In(m.zone)) {
		return "quiet_hours"
	}
	for _, r := range m.policy.Rules {
		if m.exceeds(r, stay, s, "") {
			return r.String()
		}
	}
	for _, r := range m.policy.Categories[s.category].Rules {
		if m.exceeds(r, stay, s, s.category) {
			return s.category + " " + r.String()
		}
	}
	return ""
}

// exceeds reports whether a window of a rule with the message would exceed the
// limit. It counts a category, or all messages for "".
func (m refitModel) exceeds(r policy.Rule, stay []placed, s scheduled, category string) bool {
	times := []time.Time{s.at}
	for _, p := range stay {
		if category == "" || p.category == category {
			times = append(times, p.at)
		}
	}
	within := func(same func(time.Time) bool) bool {
		n := 0
		for _, at := range times {
			if same(at) {
				n++
			}
		}
		return n > r.Limit
	}
	if r.Calendar() {
		period := m.period(r.Period, s.at)
		return within(func(at time.Time) bool { return m.period(r.Period, at) == period })
	}
	for _, from := range times { // the fullest windows begin with a message
		if from.After(s.at) || !from.Add(r.Window).After(s.at) {
			continue
		}
		if within(func(at time.Time) bool { return !at.Before(from) && at.Before(from.Add(r.Window)) }) {
			return true
		}
	}
	return false
}

// period returns a name for the natural period of a time. An hour that the
// clock shows twice is two periods.
func (m refitModel) period(p calendar.Period, at time.Time) string {
	local := at.In(m.zone)
	switch p {
	case calendar.Minute:
		return local.Format("2006-01-02 15:04 -07:00")
	case calendar.Hour:
		return local.Format("2006-01-02 15 -07:00")
	case calendar.Week:
		year, week := local.ISOWeek()
		return fmt.Sprint(year, week)
	case calendar.Month:
		return local.Format("2006-01")
	default:
		return local.Format("2006-01-02")
	}
}

// randomRefit returns a random policy and a user's messages around now. Some of
// them break the policy.
func randomRefit(random *rand.Rand, now time.Time, n int) (policy.Policy, []scheduled) {
	limits := []int{4, 12}[random.IntN(2)]
	some := func(texts []string, most int) []policy.Rule {
		var rules []policy.Rule
		for _, k := range random.Perm(len(texts))[:1+random.IntN(most)] {
			rule, err := policy.ParseRule(strconv.Itoa(1+random.IntN(limits)) + "/" + texts[k])
			if err != nil {
				panic(err) // the test is wrong
			}
			rules = append(rules, rule)
		}
		return rules
	}
	windows := []string{"minute", "90s", "hour", "6h", "day", "calendar_minute", "calendar_hour", "calendar_day", "calendar_week", "calendar_month"}
	p := policy.Policy{Name: "test", Rules: some(windows, 3)}
	p.TimeZone = []string{"", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"}[random.IntN(4)]
	categories := []string{"", "marketing", "otp", "codes", "pins"}
	if random.IntN(3) > 0 {
		p.Categories = map[string]policy.CategoryRules{
			"marketing": {Rules: some(windows, 2)}, "otp": {Exempt: true}, "codes": {Exempt: true, Uncounted: true}, "pins": {Exempt: true},
		}
	}
	if random.IntN(3) == 0 {
		var err error
		if p.QuietHours, err = policy.ParseQuietHours("22:00-07:30", "sat,sun 00:00-12:00"); err != nil {
			panic(err) // the test is wrong
		}
	}
	messages := make([]scheduled, n)
	span := []time.Duration{time.Hour, 12 * time.Hour, 5 * 24 * time.Hour}[random.IntN(3)]
	step := []time.Duration{time.Millisecond, 30 * time.Second, 20 * time.Minute}[random.IntN(3)]
	for i := range messages {
		at := now.Add(time.Duration(random.Int64N(int64(span))) - span/4).Truncate(step)
		messages[i] = scheduled{id: "m" + strconv.Itoa(i), category: categories[random.IntN(len(categories))], at: at}
	}
	return p, messages
}

// The script and plain counting agree about random policies and timelines, also
// on days of clock changes.
func TestRefitAgreesWithPlainCounting(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 6))
	_, client := redistest.Embedded(t)
	misfits := 0
	for round := range 150 {
		now := []time.Time{story.At("2026-11-22T00:00:00Z"), story.At("2026-10-24T20:00:00Z"), story.At("2026-03-28T22:00:00Z"), story.At("2026-10-03T10:00:00Z")}[random.IntN(4)]
		n := 1 + random.IntN(40)
		if round%50 == 0 {
			n = 900 // more than one call judges
		}
		p, messages := randomRefit(random, now, n)
		user := "user" + strconv.Itoa(round)
		schedule(t, client, now, user, messages...)
		zone, err := calendar.ParseTimeZone(cmp.Or(p.TimeZone, "UTC"))
		require.NoError(t, err)
		want := refitModel{policy: p, zone: zone, now: now}.misfits(messages)
		found := runRefitOfUser(t, client, p, now, user)
		require.Equal(t, want, summarize(found), "round %d, seed %d: %+v at %s", round, seed, p, now)
		misfits += len(want)
	}
	require.Greater(t, misfits, 500, "which is what this is about")
}
