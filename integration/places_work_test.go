package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// manyPlaces are the places of a user in one day.
const manyPlaces = 100_000

// fillDay writes places of a user, with records of sent messages of the exempt category
// otp. A user gets so many when exempt messages count, or when limits were lowered.
func fillDay(t *testing.T, client *redis.Client, user string, at func(n int) time.Time) {
	t.Helper()
	keys := defaultKeys(t)
	for part := range slices.Chunk(makeRange(manyPlaces), 2000) {
		_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			members := make([]redis.Z, len(part))
			for i, n := range part {
				id := fmt.Sprintf("m%06d", n)
				members[i] = redis.Z{Score: float64(at(n).UnixMilli()), Member: id}
				pipe.HSet(t.Context(), keys.Record(user, id), "s", "d", "g", "g"+id, "t", at(n).UnixMilli(), "f", id, "k", "otp")
			}
			pipe.ZAdd(t.Context(), keys.Timeline(user), members...)
			pipe.ZAdd(t.Context(), keys.Category(user, "otp"), members...)
			return nil
		})
		require.NoError(t, err)
	}
}

// timed measures the processor time of the server in each script call of a client: the
// machine may be busy.
type timed struct {
	redis.Hook
	server  *redis.Client
	slowest time.Duration
}

func (h *timed) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *timed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *timed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return next(ctx, cmd)
		}
		before, err := h.used(ctx)
		if err != nil {
			return err
		}
		failed := next(ctx, cmd)
		after, err := h.used(ctx)
		h.slowest = max(h.slowest, after-before)
		return errors.Join(failed, err)
	}
}

// used returns the processor time that the server has used.
func (h *timed) used(ctx context.Context) (time.Duration, error) {
	info, err := h.server.InfoMap(ctx, "cpu").Result()
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	used := 0.0
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		used += seconds
	}
	return time.Duration(used * float64(time.Second)), nil
}

// slowest returns how long the slowest script call of an operation ran. Of several tries
// it takes the fastest.
func (h *timed) slowestOf(tries int, do func(n int)) time.Duration {
	least := time.Hour
	for n := range tries {
		h.slowest = 0
		do(n)
		least = min(least, h.slowest)
	}
	return least
}

// Whatever is stored, no call blocks the server: a search goes on in further calls.
func TestNoCallReadsAHundredThousandPlaces(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t)
	client, hook := server.Client(), &timed{server: server.Client()}
	client.AddHook(hook)
	// On a quiet machine the slowest takes 7 ms. Without bounds it takes more than 200 ms.
	const most = 40 * time.Millisecond
	now := noon()
	day := now.Add(12 * time.Hour)
	even := func(n int) time.Time { return day.Add(time.Duration(n) * 24 * time.Hour / manyPlaces) }
	bursts := func(n int) time.Time { return day.Add(time.Duration(n%24) * time.Hour) }
	fillDay(t, client, "even", even)
	fillDay(t, client, "bursts", bursts)

	p := story.PolicyOf(t, "1/minute", "5/hour", "10/calendar_day", "100/day")
	p.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true}, "news": {Rules: story.LimitsOf(t, "1/day", "900/7d")}}
	wide := story.PolicyOf(t, "1000/minute", "1000/day", "1000/30d", "1000/calendar_month")
	wide.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true}}
	for _, row := range []struct {
		name   string
		policy policy.Policy
		bound  int
	}{{"narrow", p, policy.MaxPlacesPerDay}, {"bounded", p, policy.DefaultPlacesPerDay}, {"wide", wide, policy.MaxPlacesPerDay}} {
		for _, user := range []string{"even", "bursts"} {
			o := sendlimit.Options{Records: true, Rules: story.RulesBy(t, row.policy), PlacesPerDay: row.bound}
			timeline, err := sendlimit.NewTimeline(client, o)
			require.NoError(t, err)
			request := func(n int, category string, shift bool) sendlimit.Request {
				id := fmt.Sprintf("%s-%s-%d", row.name, category, n)
				return sendlimit.Request{
					User: user, ID: id, At: day.Add(11*time.Hour + time.Duration(n)*time.Second), Category: category, Now: now, Shift: shift,
					Record: &sendlimit.Record{Generation: keyspace.NewToken(), Category: category, Fingerprint: id},
				}
			}
			for _, operation := range []struct {
				name string
				do   func(ctx context.Context, n int) error
			}{
				{"refused", func(ctx context.Context, n int) error {
					_, err := timeline.Reserve(ctx, request(n, "", false))
					return err
				}},
				{"exempt", func(ctx context.Context, n int) error {
					_, err := timeline.Reserve(ctx, request(n, "otp", false))
					return err
				}},
				{"check", func(ctx context.Context, n int) error {
					_, err := timeline.Check(ctx, request(n, "", false))
					return err
				}},
				{"shift", func(ctx context.Context, n int) error {
					_, err := timeline.Reserve(ctx, request(100+n, "", true))
					return err
				}},
				{"move", func(ctx context.Context, n int) error {
					_, err := timeline.Move(ctx, sendlimit.MoveRequest{User: user, ID: fmt.Sprintf("%s--%d", row.name, 100), At: day.Add(time.Duration(n) * time.Hour), Generation: keyspace.NewToken(), Now: now})
					return err
				}},
				{"next free", func(ctx context.Context, _ int) error {
					_, err := timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: user, From: day, Count: 3, Now: now})
					return err
				}},
				{"usage", func(ctx context.Context, _ int) error {
					_, err := timeline.Usage(ctx, sendlimit.UsageRequest{User: user, At: day.Add(11 * time.Hour), Now: now})
					return err
				}},
				{"usage of a span", func(ctx context.Context, _ int) error {
					_, err := timeline.Usage(ctx, sendlimit.UsageRequest{User: user, At: day.Add(11 * time.Hour), From: now, To: now.Add(7 * 24 * time.Hour), Now: now})
					return err
				}},
				{"list", func(ctx context.Context, _ int) error {
					_, err := timeline.List(ctx, sendlimit.ListRequest{User: user, Now: now})
					return err
				}},
				{"rehearse", func(ctx context.Context, n int) error {
					rehearsal := timeline.Rehearse(client)
					d, err := rehearsal.Check(ctx, request(n, "otp", false))
					direct, failed := timeline.Check(ctx, request(n, "otp", false))
					if err = errors.Join(err, failed); err == nil && d.Code != direct.Code {
						err = fmt.Errorf("the rehearsal answers %q, and the timeline %q", d.Code, direct.Code)
					}
					return errors.Join(err, rehearsal.Close(ctx))
				}},
				{"record sent", func(ctx context.Context, n int) error {
					r := request(200+n, "otp", false)
					_, err := timeline.RecordSent(ctx, sendlimit.SentRequest{User: user, ID: r.ID, At: day.Add(23 * time.Hour), Record: r.Record, Now: day.Add(24 * time.Hour)})
					return err
				}},
			} {
				took := hook.slowestOf(3, func(n int) {
					require.NoError(t, operation.do(t.Context(), n), "%s %s %s", row.name, user, operation.name)
				})
				t.Logf("%-8s %-8s %-16s %s", row.name, user, operation.name, took)
				if took > most {
					t.Errorf("%s %s %s took %s", row.name, user, operation.name, took)
				}
			}
			lateClaims(t, client, hook, row.name, user, o, day.Add(24*time.Hour), most)
		}
	}
}

// lateClaims claims messages that are late, with many places before and after.
func lateClaims(t *testing.T, client *redis.Client, hook *timed, name, user string, o sendlimit.Options, now time.Time, most time.Duration) {
	t.Helper()
	keys := defaultKeys(t)
	gate, err := messages.NewGate(client, o)
	require.NoError(t, err)
	took := hook.slowestOf(3, func(try int) {
		_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			pipe.Del(t.Context(), keys.LateMark(user))
			for n := range 150 {
				id := fmt.Sprintf("late-%d", n)
				at := now.Add(time.Duration(n)*time.Second - 20*time.Hour).UnixMilli()
				pipe.Del(t.Context(), keys.Record(user, id))
				pipe.HSet(t.Context(), keys.Record(user, id), "g", "g"+id, "t", at, "f", id, "x", now.Add(300*24*time.Hour).UnixMilli())
				pipe.ZAdd(t.Context(), keys.Timeline(user), redis.Z{Score: float64(at), Member: id})
			}
			return nil
		})
		require.NoError(t, err)
		id := fmt.Sprintf("late-%d", try)
		_, err = gate.Claim(t.Context(), messages.Delivery{User: user, ID: id, Generation: "g" + id, Nonce: keyspace.NewToken()}, time.Minute, now)
		require.NoError(t, err)
	})
	t.Logf("%-8s %-8s %-16s %s", name, user, "late claim", took)
	if took > most {
		t.Errorf("%s %s late claim took %s", name, user, took)
	}
}
