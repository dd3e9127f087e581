package storeclock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// askWithin is how long the other masters may take to return their time.
const askWithin = 500 * time.Millisecond

// Clocks are the clocks of a store's masters. It is safe for concurrent use.
type Clocks struct {
	// Clock is that of the main master: the one with the key main, or the only one.
	*Clock

	client  redis.UniversalClient
	cluster *redis.ClusterClient // nil for one server
	main    string
	tags    [keyspace.Partitions]string
	of      [keyspace.Partitions]atomic.Pointer[Clock]

	mu        sync.Mutex
	byAddress map[string]*Clock
	mainAt    string
}

// NewClocks returns the clocks of the store behind client. Call Ask to learn them.
func NewClocks(client redis.UniversalClient, main string) *Clocks {
	c := &Clocks{Clock: New(), client: client, main: main, byAddress: make(map[string]*Clock)}
	c.cluster, _ = client.(*redis.ClusterClient)
	for p := range c.tags {
		c.tags[p] = "{" + keyspace.Tag(p) + "}"
	}
	return c
}

// OfUser returns the clock of the master of a user, an account or another name with a partition.
func (c *Clocks) OfUser(name string) *Clock {
	return c.OfPartition(keyspace.Partition(name))
}

// OfPartition returns the clock of the master that has a partition.
func (c *Clocks) OfPartition(partition int) *Clock {
	if known := c.of[partition].Load(); known != nil {
		return known
	}
	return c.Clock
}

// Of returns the clock of the master that has a key.
func (c *Clocks) Of(ctx context.Context, key string) *Clock {
	if c.cluster == nil {
		return c.Clock
	}
	master, err := c.cluster.MasterForKey(ctx, key)
	if err != nil {
		return c.Clock
	}
	return c.at(master.Options().Addr)
}

// Ahead is a keyspace.Ahead, whose common clock is the main one.
func (c *Clocks) Ahead(partition int) time.Duration { return c.OfPartition(partition).Ahead(c.Clock) }

// Stepped returns a Step that is waited out, preferably the main master's; the zero Step for none.
func (c *Clocks) Stepped() Step {
	if step := c.Clock.Stepped(); step != (Step{}) {
		return step
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, clock := range c.byAddress {
		if step := clock.Stepped(); step != (Step{}) {
			return step
		}
	}
	return Step{}
}

// FellBehind returns the Behind of the clock that is furthest behind its former course; the zero Behind
// for none.
func (c *Clocks) FellBehind() Behind {
	furthest := c.Clock.FellBehind()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, clock := range c.byAddress {
		if behind := clock.FellBehind(); behind.By > furthest.By {
			furthest = behind
		}
	}
	return furthest
}

// UnlessStepped returns a job that skips run while a step is waited out: by a wrong clock, nothing is
// due or over.
func (c *Clocks) UnlessStepped(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if c.Stepped() != (Step{}) {
			return nil
		}
		return run(ctx)
	}
}

// Ask asks all masters for their times, and learns their clocks and partitions. It returns the time
// of the main one, or its error. The others keep their clocks if they do not answer at once.
func (c *Clocks) Ask(ctx context.Context) (time.Time, error) {
	if c.cluster == nil {
		return ask(ctx, c.client, c.Clock)
	}
	main, err := c.cluster.MasterForKey(ctx, c.main)
	if err != nil {
		return time.Time{}, err //nolint:wrapcheck // the caller says what was being done
	}
	c.moveMain(main.Options().Addr)
	now, err := ask(ctx, main, c.Clock)
	if err != nil {
		return time.Time{}, err
	}
	c.askOthers(ctx, main)
	return now, nil
}

// moveMain sets the address of the main master.
func (c *Clocks) moveMain(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mainAt != address {
		c.mainAt = address
		c.Moved()
	}
	c.byAddress[address] = c.Clock
}

// askOthers learns the clocks of all masters but the main one.
func (c *Clocks) askOthers(ctx context.Context, main *redis.Client) {
	ctx, done := context.WithTimeout(ctx, askWithin)
	defer done()
	masters := map[*redis.Client]*Clock{main: c.Clock}
	var partitions [keyspace.Partitions]*Clock
	for p, tag := range c.tags {
		master, err := c.cluster.MasterForKey(ctx, tag)
		if err != nil {
			return
		}
		if masters[master] == nil {
			masters[master] = c.at(master.Options().Addr)
		}
		partitions[p] = masters[master]
	}
	var asking sync.WaitGroup
	for master, clock := range masters {
		if clock != c.Clock {
			asking.Go(func() { _, _ = ask(ctx, master, clock) }) // callers notice that it is away
		}
	}
	asking.Wait()
	c.keep(masters)
	for p, clock := range partitions {
		c.of[p].Store(clock)
	}
}

// at returns the clock of the master at an address. A new one is like the main one until it learns.
func (c *Clocks) at(address string) *Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byAddress[address] == nil {
		c.byAddress[address] = c.Another()
	}
	return c.byAddress[address]
}

// keep forgets the clocks of servers that are no longer masters.
func (c *Clocks) keep(masters map[*redis.Client]*Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byAddress)
	for master, clock := range masters {
		c.byAddress[master.Options().Addr] = clock
	}
}

func ask(ctx context.Context, server redis.Cmdable, clock *Clock) (time.Time, error) {
	sent := clock.Local()
	now, err := server.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("asking for the time: %w", err)
	}
	clock.Learn(sent, clock.Local(), now)
	return now, nil
}
