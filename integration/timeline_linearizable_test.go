package integration_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// operation is a client's call: when it began and ended, by the machine's clock, and the
// answer, which has the server's own now.
type operation struct {
	Client int
	Kind   string // reserve, check, move, release
	User   string
	ID     string
	At     time.Time
	Shift  bool

	Began, Ended int64
	Decision     sendlimit.Decision
}

func (o operation) request() sendlimit.Request {
	return sendlimit.Request{User: o.User, ID: o.ID, At: o.At, Shift: o.Shift}
}

// limiter executes the operations: a Timeline, or a worse one.
type limiter interface {
	Reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
	Check(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
	Move(ctx context.Context, r sendlimit.MoveRequest) (sendlimit.Decision, error)
	Release(ctx context.Context, r sendlimit.ReleaseRequest) (sendlimit.Decision, error)
}

// run executes the operation on a limiter.
func (o *operation) run(ctx context.Context, l limiter) error {
	var err error
	o.Began = time.Now().UnixNano()
	switch o.Kind {
	case "reserve":
		o.Decision, err = l.Reserve(ctx, o.request())
	case "check":
		o.Decision, err = l.Check(ctx, o.request())
	case "move":
		o.Decision, err = l.Move(ctx, sendlimit.MoveRequest{User: o.User, ID: o.ID, At: o.At})
	default:
		o.Decision, err = l.Release(ctx, sendlimit.ReleaseRequest{User: o.User, ID: o.ID})
	}
	o.Ended = time.Now().UnixNano()
	return err
}

// spec is the specification: the Model, step by step.
type spec struct {
	model *sendlimittest.Model
	now   time.Time // of the last step: a server's clock does not go back
}

func (s spec) step(o operation) (bool, spec) {
	now := o.Decision.Now
	if now.Before(s.now) {
		return false, s
	}
	next := spec{s.model.Clone(), now}
	r := o.request()
	r.Now = now
	var want sendlimit.Decision
	switch o.Kind {
	case "reserve":
		want = next.model.Reserve(r)
	case "check":
		want = next.model.Check(r)
	case "move":
		want = next.model.Move(sendlimit.MoveRequest{User: o.User, ID: o.ID, At: o.At, Now: now})
	default:
		want = next.model.Release(sendlimit.ReleaseRequest{User: o.User, ID: o.ID, Now: now})
	}
	return reflect.DeepEqual(want, o.Decision), next
}

// linearizable reports whether some order of the operations gives all their answers.
// The order must respect when they began and ended.
func linearizable(t *testing.T, history []operation) porcupine.CheckResult {
	t.Helper()
	p, err := policy.Parse("test", "", linearizableRules...)
	require.NoError(t, err)
	model, err := sendlimittest.NewModel(p, policy.DefaultReach)
	require.NoError(t, err)
	operations := make([]porcupine.Operation, len(history))
	for i, o := range history {
		operations[i] = porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Began, Return: o.Ended, Output: o.Decision}
	}
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			users := make(map[string][]porcupine.Operation)
			for _, o := range all {
				user := o.Input.(operation).User //nolint:forcetypeassert // put there above
				users[user] = append(users[user], o)
			}
			return slices.Collect(maps.Values(users))
		},
		Init: func() any { return spec{model: model} },
		Step: func(state, input, _ any) (bool, any) {
			return state.(spec).step(input.(operation)) //nolint:forcetypeassert // put there above
		},
		Equal: func(a, b any) bool {
			x, y := a.(spec), b.(spec) //nolint:forcetypeassert // put there above
			return x.now.Equal(y.now) && x.model.Equal(y.model)
		},
	}, operations, time.Minute)
}

var linearizableRules = []string{"1/minute", "3/hour"} //nolint:globals // a constant table

func linearizableTimeline(t *testing.T, client redis.Scripter) *sendlimit.Timeline {
	t.Helper()
	policy, err := policy.Parse("test", "", linearizableRules...)
	require.NoError(t, err)
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: story.RulesBy(t, policy)})
	require.NoError(t, err)
	return timeline
}

// firstPlace returns the first of the times that clients compete for. It is after the server's
// own clock.
func firstPlace() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour) }

// Many clients, each with a connection and a timeline of its own, as programs have them, work on
// the places of a few users.
func TestTimelineIsLinearizable(t *testing.T) {
	const users, clients, each = 6, 32, 100
	database := redistest.Shared(t)
	seed, first := rand.Uint64(), firstPlace()
	t.Logf("seed %d", seed)
	histories, errs := make([][]operation, clients), make([]error, clients)
	start := make(chan struct{})
	var working sync.WaitGroup
	for c := range clients {
		client := redis.NewClient(database.Options())
		defer client.Close()
		timeline := linearizableTimeline(t, client)
		require.NoError(t, client.Ping(t.Context()).Err())
		random := rand.New(rand.NewPCG(seed, uint64(c)))
		working.Go(func() {
			<-start
			for range each {
				o := operation{
					Client: c,
					Kind:   []string{"reserve", "reserve", "reserve", "check", "move", "release"}[random.IntN(6)],
					User:   fmt.Sprintf("user-%d", random.IntN(users)),
					ID:     fmt.Sprintf("m%d", random.IntN(12)),
					At:     first.Add(time.Duration(random.IntN(30)) * 20 * time.Second),
					Shift:  random.IntN(4) == 0,
				}
				if errs[c] = o.run(t.Context(), timeline); errs[c] != nil {
					return
				}
				histories[c] = append(histories[c], o)
			}
		})
	}
	close(start)
	working.Wait()
	require.NoError(t, errors.Join(errs...))
	history := slices.Concat(histories...)
	kinds := make(map[string]int)
	for _, o := range history {
		outcome := "allowed"
		if !o.Decision.Allowed {
			outcome = string(o.Decision.Code)
		}
		kinds[o.Kind+" "+outcome]++
	}
	t.Logf("%d operations: %v", len(history), kinds)
	for _, kind := range []string{
		"reserve allowed", "reserve send_limit", "reserve id_reused", "move allowed", "move send_limit",
		"release allowed", "release not_found", "check allowed", "check send_limit",
	} {
		require.Positive(t, kinds[kind], "the history has none of %s", kind)
	}
	require.Equal(t, porcupine.Ok, linearizable(t, history))
}

// checkThenInsert is a limiter that looks and then takes, in two calls. At the place
// named meet it waits until another caller has looked too.
type checkThenInsert struct {
	*sendlimit.Timeline

	client *redis.Client
	keys   keyspace.Keys
	meet   *sync.WaitGroup
}

func (l checkThenInsert) Reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error) {
	d, err := l.Check(ctx, r)
	l.meet.Done()
	l.meet.Wait()
	if err != nil || !d.Allowed || d.Replayed {
		return d, err
	}
	return d, l.client.ZAdd(ctx, l.keys.Timeline(r.User), redis.Z{Score: float64(d.At.UnixMilli()), Member: r.ID}).Err()
}

// The proof above is only worth something if it fails for a limiter that is not atomic.
func TestALimiterThatIsNotAtomicIsFoundOut(t *testing.T) {
	server := redistest.Shared(t)
	timeline := linearizableTimeline(t, server.Client())
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	quarrel := func(user string, l limiter) []operation {
		history := []operation{
			{Client: 0, Kind: "reserve", User: user, ID: "a", At: firstPlace()},
			{Client: 1, Kind: "reserve", User: user, ID: "b", At: firstPlace().Add(20 * time.Second)},
		}
		var wg sync.WaitGroup
		for i := range history {
			wg.Go(func() { history[i].mustRun(t, l) })
		}
		wg.Wait()
		return history
	}
	var meet sync.WaitGroup
	meet.Add(2)
	torn := quarrel("alice", checkThenInsert{timeline, server.Client(), keys, &meet})
	require.True(t, torn[0].Decision.Allowed && torn[1].Decision.Allowed, "both got a place, a third of a minute apart")
	require.Equal(t, porcupine.Illegal, linearizable(t, torn))
	require.Equal(t, porcupine.Ok, linearizable(t, quarrel("bob", timeline)))
}

func (o *operation) mustRun(t *testing.T, l limiter) {
	t.Helper()
	if err := o.run(t.Context(), l); err != nil {
		t.Error(err)
	}
}
