package events_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// onEachStore runs a test on the embedded store and, if there is one, on Redis.
func onEachStore(t *testing.T, test func(t *testing.T, client redis.UniversalClient)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		_, client := redistest.Embedded(t)
		test(t, client)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Real(t).Client())
	})
}

// event returns an event of acme's message, written with an id in its partition.
func event(id string, number int) events.Event {
	return events.Event{
		ID: id, Type: events.Moved, Account: "acme", User: "alice", MessageID: fmt.Sprintf("m-%d", number),
		At: story.At("12:00"), SendAt: story.At("13:00"), FormerSendAt: story.At("14:00"),
		Reason: "late", Attempt: 2, Campaign: "sale", Metadata: []byte(`{"order":17}`),
	}
}

func open(t *testing.T, client redis.Cmdable, o events.Options) *events.Log {
	t.Helper()
	log, err := events.NewLog(client, o)
	require.NoError(t, err)
	return log
}

func TestEventsAreReadAsTheyWereAppended(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		log := open(t, client, events.Options{})
		latest, err := log.Latest(t.Context(), "acme")
		require.NoError(t, err)
		require.Empty(t, latest)

		bare := events.Event{ID: "7-10", Type: events.Dropped, User: "bob", MessageID: "m-2", At: story.At("12:00"), SendAt: story.At("11:00")}
		delivered := event("8-0", 3)
		delivered.Type, delivered.Reason, delivered.FormerSendAt = events.Delivered, "", time.Time{}
		delivered.ProviderID, delivered.Metadata = "of\nmany\n\nlines\n", []byte("{\n\"order\": \"17\"}")
		given := []events.Event{event("7-9", 1), bare, delivered}
		appended, err := log.Append(t.Context(), "acme", 5, given)
		require.NoError(t, err)
		require.Equal(t, 3, appended)
		read, err := log.Read(t.Context(), "acme", "", 10)
		require.NoError(t, err)
		require.Len(t, read, 3)
		for i := range read {
			require.Negative(t, events.Compare("", read[i].ID))
			if i > 0 {
				require.Negative(t, events.Compare(read[i-1].ID, read[i].ID))
			}
			given[i].ID = read[i].ID
		}
		require.Equal(t, given, read)

		first, err := log.Read(t.Context(), "acme", "", 1)
		require.NoError(t, err)
		require.Equal(t, read[:1], first)
		fromOldest, err := log.Read(t.Context(), "acme", events.Oldest, 1)
		require.NoError(t, err)
		require.Equal(t, first, fromOldest)
		fromOldest, gap, err := log.ReadOn(t.Context(), "acme", events.Oldest, 1)
		require.NoError(t, err)
		require.Equal(t, first, fromOldest)
		require.False(t, gap)
		rest, err := log.Read(t.Context(), "acme", first[0].ID, 10)
		require.NoError(t, err)
		require.Equal(t, read[1:], rest)
		latest, err = log.Latest(t.Context(), "acme")
		require.NoError(t, err)
		require.Equal(t, read[2].ID, latest)
		none, err := log.Read(t.Context(), keyspace.Everyone, "", 10)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

// Two workers gather the same, and one of them dies before it removes what it gathered.
func TestAnEventIsAppendedOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		log := open(t, client, events.Options{})
		appended := func(partition int, given ...events.Event) int {
			n, err := log.Append(t.Context(), "acme", partition, given)
			require.NoError(t, err)
			return n
		}
		require.Equal(t, 2, appended(5, event("99-9", 1), event("99-10", 2)))
		require.Zero(t, appended(5, event("99-9", 1), event("99-10", 2)))
		require.Equal(t, 1, appended(5, event("99-10", 2), event("100-0", 3)))
		require.Zero(t, appended(5, event("99-9", 1)))
		require.Equal(t, 1, appended(6, event("99-9", 4)), "another partition counts for itself")
		read, err := log.Read(t.Context(), "acme", "", 10)
		require.NoError(t, err)
		var ids []string
		for _, e := range read {
			ids = append(ids, e.MessageID)
		}
		require.Equal(t, []string{"m-1", "m-2", "m-3", "m-4"}, ids)
	})
}

// The log of an account is bounded by number and by age.
func TestOldEventsAreRemoved(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	log := open(t, client, events.Options{Most: 200, Keep: time.Minute})
	key := keyspace.KeysUnder("sl").AccountEvents("acme")
	for batch := range 20 {
		given := make([]events.Event, 50)
		for i := range given {
			given[i] = event(fmt.Sprintf("%d-0", 1+batch*len(given)+i), i)
		}
		_, err := log.Append(t.Context(), "acme", 1, given)
		require.NoError(t, err)
	}
	kept, err := client.XLen(t.Context(), key).Result()
	require.NoError(t, err)
	require.LessOrEqual(t, kept, int64(200+100), "Redis removes whole nodes of up to 100 entries")
	require.GreaterOrEqual(t, kept, int64(200))
	left, err := client.PTTL(t.Context(), key).Result()
	require.NoError(t, err)
	require.LessOrEqual(t, left, time.Minute)
	require.Positive(t, left)
	left, err = client.PTTL(t.Context(), keyspace.KeysUnder("sl").AccountGathered("acme")).Result()
	require.NoError(t, err)
	require.Greater(t, left, time.Minute, "an event that is still in its partition is known")
}

func TestOldEventsAreRemovedByAge(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	log := open(t, client, events.Options{Keep: time.Hour})
	for i, clock := range []string{"12:00", "12:30", "13:15"} {
		server.SetTime(story.At(clock))
		_, err := log.Append(t.Context(), "acme", 1, []events.Event{event(fmt.Sprintf("%d-0", i+1), i)})
		require.NoError(t, err)
	}
	read, err := log.Read(t.Context(), "acme", "", 10)
	require.NoError(t, err)
	require.Len(t, read, 2)
	require.Equal(t, "m-1", read[0].MessageID)
}

func TestListening(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	listeners := events.NewListeners(client, keyspace.KeysUnder(""))
	logs := func(account string) []string {
		listening, err := listeners.Load(t.Context())
		require.NoError(t, err)
		return listening.Logs(account)
	}
	nobody := func(server *miniredis.Miniredis, clock string) bool {
		server.SetTime(story.At(clock))
		listening, err := listeners.Load(t.Context())
		require.NoError(t, err)
		return len(listening.Accounts()) == 0
	}
	require.True(t, nobody(server, "12:00"))

	require.NoError(t, listeners.Listen(t.Context(), "acme", story.At("12:05")))
	require.NoError(t, listeners.Listen(t.Context(), "acme", story.At("12:03")), "the later end stays")
	require.False(t, nobody(server, "12:04"))
	require.Equal(t, []string{"acme"}, logs("acme"))
	require.Empty(t, logs("acm"))
	require.Empty(t, logs(""))
	require.NoError(t, listeners.Listen(t.Context(), keyspace.Everyone, story.At("12:10")))
	require.Equal(t, []string{"acme", "*"}, logs("acme"))
	require.Equal(t, []string{"*"}, logs(""))
	require.False(t, nobody(server, "12:05"))
	require.Equal(t, []string{"*"}, logs("acme"), "it is over")

	require.NoError(t, listeners.Listen(t.Context(), "b", story.At("12:20")))
	known, err := client.HKeys(t.Context(), keyspace.KeysUnder("sl").Listeners()).Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"*", "b"}, known, "what is over is removed")
	require.NoError(t, listeners.Forget(t.Context(), "b"))
	require.Empty(t, logs("acme")[1:])
	require.NoError(t, listeners.Forget(t.Context(), keyspace.Everyone))
	require.True(t, nobody(server, "12:05"))
	require.Empty(t, server.Keys())
}

func TestEventsRefuse(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	log := open(t, client, events.Options{})
	for _, account := range []string{"", "Acme", "a b", "**"} {
		_, err := log.Read(t.Context(), account, "", 1)
		story.Invalid(t, err, "account", account)
	}
	for _, after := range []string{"1", "1-", "-1", "a-b", "$", "1-0-0"} {
		_, err := log.Read(t.Context(), "acme", after, 1)
		story.Invalid(t, err, "after", after)
	}
	for _, n := range []int{0, -1, events.MaxRead + 1} {
		_, err := log.Read(t.Context(), "acme", "", n)
		story.Invalid(t, err, "limit", strconv.Itoa(n))
	}
	_, err := log.Append(t.Context(), "acme", keyspace.Partitions, []events.Event{event("1-0", 1)})
	story.Invalid(t, err, "partition", "1024")
	_, err = log.Append(t.Context(), "acme", 1, []events.Event{event("", 1)})
	story.Invalid(t, err, "id", "")
	for _, o := range []events.Options{{Keep: time.Second}, {Keep: 32 * 24 * time.Hour}, {Most: 99}, {Most: 10_000_001}, {Prefix: "A"}} {
		_, err := events.NewLog(client, o)
		require.Error(t, err)
	}
	require.Equal(t, time.Hour, events.Options{}.ListenEvery())
	require.Equal(t, 15*time.Second, events.Options{Keep: time.Minute}.ListenEvery())
	require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{
		Stream: keyspace.KeysUnder("sl").AccountEvents("acme"), Values: []string{"e", "moved"},
	}).Err())
	_, err = log.Read(t.Context(), "acme", "", 1)
	require.ErrorIs(t, err, fault.ErrReply)
}
