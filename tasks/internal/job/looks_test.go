package job_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// pipelines counts the looks of a client, and the reads outside of them.
type pipelines struct{ count, others int }

func (*pipelines) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "get" {
			p.others++
		}
		return next(ctx, cmd)
	}
}

func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "time" {
			p.count++
		}
		return next(ctx, cmds)
	}
}

// part reads a key in each look.
type part struct {
	client redis.UniversalClient
	key    string
	seen   []string // the values, or "failed"
	now    time.Time
}

func (p *part) ask(ctx context.Context, client redis.Cmdable) func(context.Context, time.Time) error {
	value := client.Get(ctx, p.key)
	return func(_ context.Context, now time.Time) error {
		text, err := value.Result()
		if p.now = now; err != nil {
			p.seen = append(p.seen, "failed")
			return err
		}
		p.seen = append(p.seen, text)
		return nil
	}
}

func (p *part) alone(ctx context.Context) error { return p.ask(ctx, p.client)(ctx, time.Time{}) }

// Several parts read in one round trip a second, from which the clock is learned. The errors are those of
// each part, and one that takes long holds up no other.
func TestPartsLookTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, client := redistest.Virtual(t)
		require.NoError(t, m.Set("a", "1"))
		m.HSet("b", "field", "value") // no text
		require.NoError(t, m.Set("c", "3"))
		counted := new(pipelines)
		client.AddHook(counted)
		clock := storeclock.New()
		looks := job.NewLooks(client, clock)
		a, b, c := &part{client: client, key: "a"}, &part{client: client, key: "b"}, &part{client: client, key: "c"}
		ignore := func(context.Context, error) {}
		slow := func(ctx context.Context, _ error) { storeclock.Sleep(ctx, nil, 2500*time.Millisecond) }
		stops := []func(){
			looks.Repeat(t.Context(), a.alone, a.ask, ignore), looks.Repeat(t.Context(), b.alone, b.ask, ignore),
			looks.Repeat(t.Context(), c.alone, c.ask, slow),
		}
		synctest.Wait()
		stops = append(stops, looks.Start(t.Context()))
		time.Sleep(4*job.LookEvery + job.LookEvery/2)
		synctest.Wait()
		require.Equal(t, []string{"1", "1", "1", "1"}, a.seen)
		require.Equal(t, []string{"failed", "failed", "failed", "failed"}, b.seen, "only its own error")
		require.Equal(t, []string{"3", "3"}, c.seen)
		require.Equal(t, pipelines{count: 4}, *counted)
		require.WithinDuration(t, time.Now(), a.now, job.LookEvery)
		require.WithinDuration(t, time.Now(), clock.Now(), 10*time.Millisecond)

		m.SetError("LOADING the dataset")
		time.Sleep(job.LookEvery)
		synctest.Wait()
		require.Equal(t, "failed", a.seen[4])
		require.Zero(t, a.now)
		m.SetError("")
		for _, stop := range stops {
			stop()
		}
		looked := counted.count
		time.Sleep(time.Minute)
		require.Equal(t, looked, counted.count)
	})
}

// In a cluster each part looks for itself: a master that does not answer holds up only its own parts.
func TestPartsOfAClusterLookAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := redistest.Apart(t, func() time.Duration { return 0 }, 0, 0).Client(nil)
		defer func() { require.NoError(t, client.Close()) }()
		require.NoError(t, client.Set(t.Context(), "a", "1", 0).Err())
		counted := new(pipelines)
		client.AddHook(counted)
		looks := job.NewLooks(client, storeclock.New())
		defer looks.Start(t.Context())()
		a := &part{client: client, key: "a"}
		defer looks.Repeat(t.Context(), a.alone, a.ask, func(context.Context, error) {})()
		time.Sleep(2*job.LookEvery + job.LookEvery/2)
		synctest.Wait()
		require.Equal(t, []string{"1", "1"}, a.seen)
		require.Equal(t, pipelines{others: 2}, *counted)
	})
}
