package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// answersWithin is less than the client waits for an answer.
const answersWithin = time.Second

// wholeScripts is a client hook that lets one script run at a time, and counts those that
// failed and those of them that changed a key.
type wholeScripts struct {
	cluster *redistest.Cluster

	mu     sync.Mutex
	failed int
	torn   []string
}

// contents returns what each node has, but for keys that soon expire. It fails if a node does not
// answer in time.
func (w *wholeScripts) contents(ctx context.Context) (all []string, err error) {
	for _, node := range w.cluster.Nodes {
		client := node.Client()
		found, err := client.Keys(ctx, "*").Result()
		if err != nil {
			return nil, err
		}
		slices.Sort(found)
		dumps, ends := make([]*redis.StringCmd, len(found)), make([]*redis.DurationCmd, len(found))
		_, err = client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, key := range found {
				dumps[i], ends[i] = pipe.Dump(ctx, key), pipe.PExpireTime(ctx, key)
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		for i, dump := range dumps {
			if end := ends[i].Val(); end < 0 || time.Until(time.UnixMilli(end.Milliseconds())) > 2*time.Minute {
				all = append(all, node.Addr+" "+found[i]+" "+ends[i].String()+" "+dump.Val())
			}
		}
	}
	return all, nil
}

// failures returns how many scripts failed so far.
func (w *wholeScripts) failures() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *wholeScripts) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	return w.during(ctx, cmds, func() error { return next(ctx, cmds) })
}

// during runs commands. If they are one script, it notes what the script did that Redis says
// failed.
func (w *wholeScripts) during(ctx context.Context, cmds []redis.Cmder, run func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	script := len(cmds) == 1 && strings.HasPrefix(cmds[0].Name(), "eval")
	var before []string
	var unseen error
	if script {
		before, unseen = w.contents(ctx)
	}
	began := time.Now()
	err := run()
	// No answer in time says nothing. After it the client calls again: an earlier call may
	// have done what the last one, which failed, did not do.
	_, replied := errors.AsType[redis.Error](err)
	if script && unseen == nil && replied && time.Since(began) < answersWithin && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		after, unseen := w.contents(ctx)
		if unseen != nil {
			return err
		}
		w.failed++
		if !slices.Equal(before, after) {
			w.torn = append(w.torn, fmt.Sprintf("%v: %.200v", err, cmds[0].Args()[2:]))
		}
	}
	return err
}

// A slot has any of its keys on one master and the others on another. There a script
// succeeds or changes no key, and no answer is an internal error.
func TestAScriptIsWholeInHalfASlot(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.RealCluster(t)
	s := &clusterStory{cluster: cluster, delivery: &delivery{T: t}}
	client, scripts := s.connect(), &wholeScripts{cluster: cluster}
	submitter := chargedSubmitter(t, client, "", accounts.Tier{MessagesPerHour: 20, MessagesPerDay: 40})
	client.AddHook(redistest.Calls(scripts.onCall))
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	users, ids := []string{"acme", "ann", "bob"}, make(map[string][]string) // acme's slot is its account's, too
	var slots []int
	for _, user := range users {
		ids[user] = []string{"m0", "m1", "m2", "m3"}
		slot, err := client.ClusterKeySlot(t.Context(), keys.Near(user)).Result()
		require.NoError(t, err)
		slots = append(slots, int(slot))
	}
	change := func() {
		for range 3 {
			err := changeSomething(t.Context(), submitter, random, message.Message{
				ID: fmt.Sprint("m", random.IntN(4)), User: users[random.IntN(len(users))], Title: "Hi", Account: "acme",
				SendAt: noon().Add(time.Duration(random.IntN(30*60)) * time.Minute),
			})
			if _, away := errors.AsType[*fault.UnavailableError](err); !away {
				require.NoError(t, err)
			}
		}
	}
	const failures = 25 // to see, in as much time as a busy machine needs for them
	for end := time.Now().Add(3 * time.Minute); scripts.failures() < failures && time.Now().Before(end); {
		change()
		require.NoError(t, cluster.MoveSlot(t.Context(), slots[random.IntN(len(slots))], random.IntN(len(cluster.Nodes)), 1+random.IntN(6), change))
	}
	require.Empty(t, scripts.torn)
	require.GreaterOrEqual(t, scripts.failures(), failures)
}
