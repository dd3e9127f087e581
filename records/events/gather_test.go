package events_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// gathering is a store with events to gather.
type gathering struct {
	*testing.T

	client    redis.UniversalClient
	listeners *events.Listeners
	written   int
}

func newGathering(t *testing.T, client redis.UniversalClient, accounts ...string) *gathering {
	t.Helper()
	g := &gathering{T: t, client: client}
	g.listeners = events.NewListeners(client, keyspace.KeysUnder(""))
	for _, account := range accounts {
		g.listen(account, time.Hour)
	}
	return g
}

func (g *gathering) listen(account string, lasts time.Duration) {
	g.Helper()
	now, err := g.client.Time(g.Context()).Result()
	require.NoError(g, err)
	require.NoError(g, g.listeners.Listen(g.Context(), account, now.Add(lasts)))
}

// write writes an event of an account into a partition, as scripts do.
func (g *gathering) write(partition int, account string, more ...string) {
	g.Helper()
	g.written++
	lines := []string{"moved", account, "user-" + strconv.Itoa(partition), "m-" + strconv.Itoa(g.written), "1", "2", "3", "", "", ""}
	fields := append([]string{"e", strings.Join(lines, "\n")}, more...)
	require.NoError(g, g.client.XAdd(g.Context(), &redis.XAddArgs{
		Stream: keyspace.KeysUnder("sl").PartitionEvents(partition), Values: fields,
	}).Err())
}

func (g *gathering) gather(partitions ...int) events.Gathered {
	g.Helper()
	gatherer, err := events.NewGatherer(g.client, events.Options{})
	require.NoError(g, err)
	found, err := gatherer.Gather(g.Context(), partitions)
	require.NoError(g, err)
	return found
}

// left returns how many events the partitions have.
func (g *gathering) left(partitions ...int) int {
	g.Helper()
	left := 0
	for _, partition := range partitions {
		n, err := g.client.XLen(g.Context(), keyspace.KeysUnder("sl").PartitionEvents(partition)).Result()
		require.NoError(g, err)
		left += int(n)
	}
	return left
}

// logged lists the messages of the events of a log.
func (g *gathering) logged(account string) []string {
	g.Helper()
	read, err := open(g.T, g.client, events.Options{}).Read(g.Context(), account, "", events.MaxRead)
	require.NoError(g, err)
	var ids []string
	for _, e := range read {
		ids = append(ids, e.MessageID)
	}
	return ids
}

func TestEventsAreGathered(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		g := newGathering(t, client, "acme", keyspace.Everyone)
		g.write(7, "acme")
		g.write(9, "other")
		g.write(7, "acme", "M", `{"a":"b"}`, "later", "of a newer program")
		found := g.gather(7, 8, 9)
		require.Equal(t, 2+3, found.Appended)
		require.Zero(t, found.Unreadable)
		require.Empty(t, found.More)
		require.Equal(t, []string{"m-1", "m-3"}, g.logged("acme"))
		require.Equal(t, []string{"m-1", "m-3", "m-2"}, g.logged(keyspace.Everyone), "each partition in its order")
		require.Empty(t, g.logged("other"))
		require.Zero(t, g.left(7, 8, 9))
		kept, err := client.XRange(t.Context(), keyspace.KeysUnder("sl").AccountEvents("acme"), "-", "+").Result()
		require.NoError(t, err)
		require.Equal(t, map[string]any{"e": kept[1].Values["e"], "M": `{"a":"b"}`, "later": "of a newer program"}, kept[1].Values)
		require.Equal(t, 0, g.gather(7, 8, 9).Appended)
	})
}

// Nobody removes events before the log has them, and no log gets an event twice.
func TestManyGatherersAtOnce(t *testing.T) {
	t.Parallel()
	const partitions, perPartition, gatherers = 5, 450, 3
	g := newGathering(t, redistest.Real(t).Client(), "acme")
	numbers := make([]int, partitions)
	for i := range perPartition * partitions {
		numbers[i%partitions] = i % partitions
		g.write(i%partitions, "acme")
	}
	var all sync.WaitGroup
	for range gatherers {
		gatherer, err := events.NewGatherer(g.client, events.Options{})
		require.NoError(t, err)
		all.Go(func() {
			for todo := numbers; len(todo) > 0; {
				found, err := gatherer.Gather(t.Context(), todo)
				if err != nil {
					t.Error(err)
					return
				}
				todo = found.More
			}
		})
	}
	all.Wait()
	require.Zero(t, g.left(numbers...))
	var logged []string
	log := open(t, g.client, events.Options{})
	for after := ""; ; {
		page, err := log.Read(t.Context(), "acme", after, events.MaxRead)
		require.NoError(t, err)
		for _, e := range page {
			logged = append(logged, e.MessageID)
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].ID
	}
	require.Len(t, logged, partitions*perPartition)
	last := make(map[int]int)
	for _, id := range logged {
		var number int
		_, err := fmt.Sscanf(id, "m-%d", &number)
		require.NoError(t, err)
		require.Greater(t, number, last[number%partitions], "the order of a partition")
		last[number%partitions] = number
	}
}

// Events that a worker appended and did not remove are not appended again.
func TestAGathererThatDied(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	g := newGathering(t, client, "acme", "b")
	g.write(7, "acme")
	g.write(7, "b")
	entries, err := client.XRange(t.Context(), keyspace.KeysUnder("sl").PartitionEvents(7), "-", "+").Result()
	require.NoError(t, err)
	done, err := open(t, client, events.Options{}).Append(t.Context(), "acme", 7, []events.Event{{
		ID: entries[0].ID, Type: events.Moved, User: "user-7", MessageID: "m-1", Account: "acme",
	}})
	require.NoError(t, err)
	require.Equal(t, 1, done)
	g.write(7, "acme")
	require.Equal(t, 2, g.gather(7).Appended, "the one of b, and the new one")
	require.Equal(t, []string{"m-1", "m-3"}, g.logged("acme"))
	require.Equal(t, []string{"m-2"}, g.logged("b"))
}

// If nobody listens any more, what is left expires in its partition. If others do, it is gone.
func TestWhatNobodyListensTo(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	g := newGathering(t, client, "acme")
	g.write(7, "acme")
	server.SetTime(story.At("13:00"))
	require.Zero(t, g.gather(7).Appended)
	require.Equal(t, 1, g.left(7))
	g.listen("b", time.Hour)
	found := g.gather(7)
	require.Zero(t, found.Appended)
	require.Equal(t, time.Hour, found.Waited)
	require.Zero(t, g.left(7))
}

// What is older than events are kept is not appended: that it was before is forgotten.
func TestAnEventThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	g := newGathering(t, client)
	g.write(7, "acme")
	server.SetTime(story.At("12:00").Add(events.DefaultKeep + time.Second))
	g.write(7, "acme")
	g.listen("acme", time.Hour)
	require.Equal(t, 1, g.gather(7).Appended)
	require.Equal(t, []string{"m-2"}, g.logged("acme"))
	require.Zero(t, g.left(7))
}

func TestAnEventThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	g := newGathering(t, client, "acme")
	g.write(7, "acme")
	require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{
		Stream: keyspace.KeysUnder("sl").PartitionEvents(7), Values: []string{"e", "moved\nacme"},
	}).Err())
	g.write(7, "acme")
	found := g.gather(7)
	require.Equal(t, 2, found.Appended)
	require.Equal(t, 1, found.Unreadable)
	require.Zero(t, g.left(7))
}

func TestOptionsOfAGatherer(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	_, err := events.NewGatherer(client, events.Options{Most: 1})
	require.Error(t, err)
}
