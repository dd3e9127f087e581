package userdata

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// The events of a user are exported once each, and erased wherever they are: in the log of an
// account, in that of all accounts, and in the partition. Those of others stay.
func TestEventsOfAUser(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("10:00"))
	listeners := events.NewListeners(client, keyspace.KeysUnder(""))
	for _, account := range []string{"acme", keyspace.Everyone} {
		require.NoError(t, listeners.Listen(t.Context(), account, story.At("12:00")))
	}
	subscribers := sendlimit.NewSubscribers(events.DefaultKeep)
	listening, err := listeners.Load(t.Context())
	require.NoError(t, err)
	subscribers.Set(listening.Accounts())
	o := sendlimit.Options{Records: true, Subscribers: subscribers}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	neighbor := neighborOf("alice", "")
	cancel := func(id string) {
		for _, user := range []string{"alice", neighbor} {
			hold := &sendlimit.Hold{Account: "acme", Attempt: keyspace.NewToken(), NotAfter: story.At("11:00")}
			d, err := timeline.Reserve(t.Context(), sendlimit.Request{User: user, ID: id, At: story.At("11:00"), Record: story.RecordOf("g"+id, ""), Hold: hold})
			require.NoError(t, err)
			require.True(t, d.Allowed)
			again := &sendlimit.Hold{Account: "acme", Attempt: keyspace.NewToken(), NotAfter: story.At("11:00"), Former: hold.Attempt}
			d, err = timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: user, ID: id, Hold: again, From: story.At("11:00")})
			require.NoError(t, err)
			require.True(t, d.Allowed)
		}
	}
	gatherer, err := events.NewGatherer(client, events.Options{})
	require.NoError(t, err)
	cancel("gathered")
	_, err = gatherer.Gather(t.Context(), subscribers.Take())
	require.NoError(t, err)
	server.SetTime(story.At("10:01"))
	cancel("ungathered")
	require.NoError(t, listeners.Forget(t.Context(), "acme")) // its log is known by the records

	users := usersOf(t, client)
	exported := func(user string) []string {
		data, err := users.Export(t.Context(), user, nil)
		require.NoError(t, err)
		ids := []string{}
		for _, e := range data.Events {
			require.Equal(t, string(events.Cancelled), e.Type)
			ids = append(ids, e.ID)
		}
		return ids
	}
	require.Equal(t, []string{"gathered", "ungathered"}, exported("alice"))
	require.GreaterOrEqual(t, eraseStored(t, users, "alice").Entries, 3)
	require.Empty(t, exported("alice"))
	require.Equal(t, []string{"gathered", "ungathered"}, exported(neighbor))
	log, err := events.NewLog(client, events.Options{})
	require.NoError(t, err)
	for _, account := range []string{"acme", keyspace.Everyone} {
		left, err := log.Read(t.Context(), account, "", 10)
		require.NoError(t, err)
		require.Len(t, left, 1, account)
		require.Equal(t, neighbor, left[0].User)
	}
}

// Export has the changes about a user. Erase removes the user from them, and leaves those about
// others as they are.
func TestChangesAboutAUser(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, embedded := redistest.Embedded(t)
	for name, client := range map[string]redis.UniversalClient{"embedded": embedded, "cluster": redistest.RealCluster(t).Client()} {
		t.Run(name, func(t *testing.T) {
			log, err := audit.New(client, audit.Options{})
			require.NoError(t, err)
			users := usersOf(t, client)
			change := func(user, message string) {
				begun, err := log.Begin(t.Context(), audit.Entry{
					Account: "acme", Key: "k1", Address: "10.0.0.1", Action: "move message", User: user, Message: message, Detail: "of " + user,
				})
				require.NoError(t, err)
				require.NoError(t, log.End(t.Context(), begun, audit.Refused, "too_late", user+" has got "+message))
			}
			change("alice", "a1")
			change("alice2", "b1")
			change("alice", "a2")
			before, _, err := log.Page(t.Context(), audit.Filter{}, "", 10)
			require.NoError(t, err)
			require.Len(t, before, 3)

			data, err := users.Export(t.Context(), "alice", nil)
			require.NoError(t, err)
			require.False(t, data.Empty())
			var want []Change
			for _, e := range []audit.Entry{before[2], before[0]} {
				want = append(want, Change{
					At: message.Time{Time: e.At}, Account: "acme", Action: "move message", ID: e.Message, Detail: "of alice",
					Outcome: audit.Refused, Code: "too_late", Answer: "alice has got " + e.Message, EndedAt: message.Time{Time: e.EndedAt},
				})
			}
			require.Equal(t, want, data.Changes)

			require.Equal(t, Erasure{User: "alice", Entries: 2}, eraseStored(t, users, "alice"))
			after, _, err := log.Page(t.Context(), audit.Filter{}, "", 10)
			require.NoError(t, err)
			for _, i := range []int{0, 2} {
				before[i].User, before[i].Message, before[i].Detail, before[i].Answer, before[i].Erased = "", "", "erased", "", true
			}
			require.Equal(t, before, after)
			data, err = users.Export(t.Context(), "alice", nil)
			require.NoError(t, err)
			require.True(t, data.Empty())
			require.Equal(t, Erasure{User: "alice"}, eraseStored(t, users, "alice"))
		})
	}
}

// Metadata is opaque to the library, and its events are among those of a user.
func TestAnEventIsExportedWhateverItsMetadata(t *testing.T) {
	t.Parallel()
	require.Empty(t, eventOf(events.Event{Type: events.Moved, MessageID: "a", Metadata: []byte("no JSON")}).Metadata)
	exported := eventOf(events.Event{Type: events.Moved, MessageID: "b", Metadata: []byte(`{"order":"17"}`)})
	require.Equal(t, map[string]string{"order": "17"}, exported.Metadata)
}
