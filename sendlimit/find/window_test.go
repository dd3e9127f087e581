package find_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/find"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// pipelined counts the commands in pipelines.
type pipelined struct{ atomic.Int64 }

func (*pipelined) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*pipelined) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p *pipelined) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// In a store with few users, a page costs about a command for each partition, not one for
// each list. It finds the messages wherever they are.
func TestAPageOfASmallStoreIsCheap(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	var want []string
	for n := range 20 {
		w := what{user: userOf(n), id: fmt.Sprint("m", n), campaign: "c", account: "acme", after: time.Duration(n) * time.Minute}
		s.submit(w)
		want = append(want, w.user+" "+w.id)
	}
	slices.Sort(want)
	commands := &pipelined{}
	client.AddHook(commands)
	for _, wanted := range []find.Filter{{}, {Campaign: "c"}} {
		commands.Store(0)
		found := s.all(wanted, 1000, nil)
		slices.Sort(found)
		require.Equal(t, want, found)
		require.Less(t, commands.Load(), int64(2*keyspace.Partitions), "%+v", wanted)
	}
}
