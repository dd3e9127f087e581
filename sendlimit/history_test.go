package sendlimit_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// The scripts and the model give the same answers to random histories.
func TestTimelineAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckHistory(t, client, fmt.Sprintf("h%d", histories.Add(1)))
	})
}

// Answers for users with many more reservations than the rules allow equal the model's.
func TestCrowdsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var crowds atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckCrowd(t, client, fmt.Sprintf("w%d", crowds.Add(1)))
	})
}

// Forbidden times are those that Check and Move refuse, each for the same reasons.
func TestForbiddenTimesAreRefused(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories, compared atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		compared.Add(int64(sendlimittest.CheckForbidden(t, client, fmt.Sprintf("f%d", histories.Add(1)))))
	})
	t.Logf("%d decisions compared in %d histories", compared.Load(), histories.Load())
}

// Alerts of users equal those of a model that looks at the whole timeline.
func TestAlertsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckAlerts(t, client, fmt.Sprintf("a%d", histories.Add(1)))
	})
}

// Records, gate and watch list equal a plain model of each message.
func TestMessagesAgreeWithTheirAccount(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	var mailboxes atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckMessages(t, client, fmt.Sprintf("m%d", mailboxes.Add(1)))
	})
}

// So do deliveries at the edges of what decides about a message.
func TestDeliveriesAtEdgesAgreeWithTheModel(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	var mailboxes atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckDeliveries(t, client, fmt.Sprintf("d%d", mailboxes.Add(1)))
	})
}

// Free times found among messages of another category count as taken, without
// becoming messages of that category. Random histories hardly ever hit this.
func TestFreeTimesAmongMessagesOfAnotherCategory(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "10/minute")
	p.UnknownCategories = policy.AllowUnknown
	p.Categories = map[string]policy.CategoryRules{
		"marketing": {Rules: []policy.Rule{{Limit: 3, Window: time.Minute}}},
	}
	s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, p), Records: true})
	for id, category := range map[string]string{"11:00:10": "news", "11:00:20": "marketing"} {
		d := s.Ask(sendlimit.Request{
			ID: id, At: story.At(id), Category: category,
			Record: &sendlimit.Record{Generation: category, Category: category, Fingerprint: id, Content: []byte("text")},
		})
		require.True(t, d.Allowed)
	}
	free, err := s.Timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{
		User: "alice", From: story.At("11:00"), Category: "marketing", Count: 4,
	})
	require.NoError(t, err)
	require.Equal(t, []time.Time{story.At("11:00"), story.At("11:00"), story.At("11:01"), story.At("11:01")}, free)
}

// What lua/place/reserve.lua judges by the first places that it reads equals the model's answer: plain
// policies, no shift, few places. Other random histories seldom have all of that.
func TestFewNeighboursAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var timelines atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlainPolicy(t)
		rules, err := sendlimit.NewRules(p)
		require.NoError(t, err)
		timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: rules, Prefix: fmt.Sprintf("n%d", timelines.Add(1))})
		require.NoError(t, err)
		model, err := sendlimittest.NewModel(p, policy.DefaultReach)
		require.NoError(t, err)
		now := time.Date(2051, 10, rapid.IntRange(24, 29).Draw(t, "day"), 5, 0, 0, 0, time.UTC)
		taken := []time.Time{now.Add(10 * time.Hour)}
		for n := range 15 {
			step := rapid.SampledFrom([]time.Duration{20 * time.Second, time.Minute, 20 * time.Minute, time.Hour, 6 * time.Hour}).Draw(t, "step")
			at := rapid.SampledFrom(taken).Draw(t, "near").Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "steps")) * step)
			at = at.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond)
			r := sendlimit.Request{User: "alice", ID: fmt.Sprintf("m%d", n), At: at, Now: now}
			r.WithoutFreeTimes = rapid.IntRange(0, 2).Draw(t, "free times") == 0
			got, err := timeline.Reserve(t.Context(), r)
			require.NoError(t, err)
			want := model.Reserve(r)
			want.Notices = got.Notices
			require.Equal(t, want, got, "%s: %+v", p, r)
			for _, free := range []time.Time{got.At, got.NextFree, got.PreviousFree} {
				if free.After(now) {
					taken = append(taken, free)
				}
			}
		}
	})
}

func drawPlainPolicy(t *rapid.T) policy.Policy {
	p := policy.Policy{Name: policy.DefaultName, TimeZone: rapid.SampledFrom([]string{"", "", "Europe/Berlin"}).Draw(t, "zone")}
	rules := []policy.Rule{
		{Window: time.Minute},
		{Window: 20 * time.Minute},
		{Window: time.Hour},
		{Window: calendar.DayLong},
		{Period: calendar.Minute},
		{Period: calendar.Hour},
		{Period: calendar.Day},
		{Period: calendar.Week},
	}
	some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(rules)-1), 2, 3, rapid.ID[int]).Draw(t, "rules")
	for _, k := range some {
		rules[k].Limit = rapid.IntRange(1, 1+k%4).Draw(t, "limit")
		p.Rules = append(p.Rules, rules[k])
	}
	return p
}

// shortOfWork replaces the scripts of a client by ones that stop after a few steps, and
// that read what there is in small parts.
type shortOfWork struct {
	hashes map[string]string // of the replaced ones
}

// shortened returns the text of a script that stops soon. A claim stays: how many late
// messages it places in a call decides which of them wait.
func shortened(text string) string {
	if strings.HasPrefix(text, "-- message/claim.lua") {
		return text
	}
	return strings.NewReplacer(
		"spent = 0, work = 7000", "spent = 0, work = 40", "list.chunk or 16", "list.chunk or 1", "FEW, covered = 16", "FEW, covered = 2",
		"math.min(2 * chunk, 512)", "2", "local WORK = 2000", "local WORK = 40",
		"local SIMPLY, COMMAND = 256, 8", "local SIMPLY, COMMAND = 4, 8",
		"local LISTED, LOOKED = 1000, 1000", "local LISTED, LOOKED = 7, 5",
		"local PAGE = 250", "local PAGE = 3",
		"local READ = 2000", "local READ = 2",
	).Replace(text)
}

func newShortOfWork(t *testing.T) shortOfWork {
	t.Helper()
	h, replaced := shortOfWork{hashes: make(map[string]string)}, 0
	for _, name := range lua.NamesByHash() {
		text, err := lua.Text(name)
		require.NoError(t, err)
		sum := sha1.Sum([]byte(shortened(text))) //nolint:names // Redis names scripts by it
		h.hashes[redis.NewScript(text).Hash()] = hex.EncodeToString(sum[:])
		if shortened(text) != text {
			replaced++
		}
	}
	require.Greater(t, replaced, 7, "scripts that search")
	return h
}

func (h shortOfWork) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	args := cmd.Args()
	if len(args) < 2 { // TIME
		return next(ctx, cmd)
	}
	switch text, _ := args[1].(string); cmd.Name() {
	case "evalsha":
		args[1] = h.hashes[text]
	case "eval":
		args[1] = shortened(text)
	}
	return next(ctx, cmd)
}

// The answers are the same if every search takes many calls.
func TestManyCallsAgreeWithTheModel(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for name, check := range map[string]func(t *rapid.T, client redis.UniversalClient, prefix string){
		"places": sendlimittest.CheckHistory, "crowds": sendlimittest.CheckCrowd, "messages": sendlimittest.CheckMessages,
		"forbidden": func(t *rapid.T, client redis.UniversalClient, prefix string) {
			sendlimittest.CheckForbidden(t, client, prefix)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := redistest.Embedded(t)
			client.AddHook(redistest.Commands(newShortOfWork(t).onCommand))
			var histories atomic.Int64
			rapid.Check(t, func(t *rapid.T) { check(t, client, fmt.Sprintf("s%d", histories.Add(1))) })
		})
	}
}
