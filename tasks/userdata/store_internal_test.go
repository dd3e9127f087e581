package userdata

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/device"
)

// dumpStore returns all keys of a store with their values.
func dumpStore(t *testing.T, client redis.UniversalClient) map[string]string {
	t.Helper()
	all := make(map[string]string)
	var mu sync.Mutex
	read := func(ctx context.Context, server *redis.Client) error {
		keys := server.Scan(ctx, 0, "*", 1000).Iterator()
		for keys.Next(ctx) {
			key := keys.Val()
			value, err := valueOf(ctx, server, key)
			if err != nil {
				return err
			}
			mu.Lock()
			all[key] = value
			mu.Unlock()
		}
		return keys.Err()
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		require.NoError(t, cluster.ForEachMaster(t.Context(), read))
		return all
	}
	server, ok := client.(*redis.Client)
	require.True(t, ok)
	require.NoError(t, read(t.Context(), server))
	return all
}

// diffKeys lists the keys that differ between two stores.
func diffKeys(before, after map[string]string) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if after[key] != before[key] {
			keys = append(keys, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, was := before[key]; !was {
			keys = append(keys, key)
		}
	}
	return keys
}

func valueOf(ctx context.Context, server *redis.Client, key string) (string, error) {
	kind, err := server.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	var value any
	switch kind {
	case "string":
		value, err = server.Get(ctx, key).Result()
	case "hash":
		value, err = server.HGetAll(ctx, key).Result()
	case "zset":
		value, err = server.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "set":
		var members []string
		members, err = server.SMembers(ctx, key).Result()
		slices.Sort(members)
		value = members
	case "list":
		value, err = server.LRange(ctx, key, 0, -1).Result()
	case "none": // has expired since
	default:
		err = fmt.Errorf("%s is a %s", key, kind)
	}
	return fmt.Sprintf("%q", value), err
}

// neighborOf returns a name that begins with another one and is in the same
// partition.
func neighborOf(user, between string) string {
	for n := 0; ; n++ {
		if name := fmt.Sprintf("%s%s%d", user, between, n); keyspace.Partition(name) == keyspace.Partition(user) {
			return name
		}
	}
}

// requireOthersUntouched erases each user, and requires that the store is as if
// the user had never existed. Names in the same partition begin like the erased
// one.
func requireOthersUntouched(t *testing.T, client redis.UniversalClient, names ...string) {
	t.Helper()
	r := newPopulation(t, client, time.Now())
	for _, user := range names {
		r.addUser(neighborOf(user, ""))
		r.addUser(neighborOf(user, ":"))
		r.addUser(neighborOf(user, ":scheduled:"))
		r.addUser("x" + user)
	}
	r.addUser("other")
	before := dumpStore(t, client)
	for _, user := range names {
		r.addUser(user)
		full := dumpStore(t, client)
		require.Equal(t, 22+3, len(full)-len(before), "keys of %q, three of them of a dry run", user)
		keys, err := r.users.find(t.Context(), user, nil)
		require.NoError(t, err)
		require.Equal(t, []string{
			"a:b", "ahead", "cancelled", "delivered", "failed", "moved", "postponed", "scheduled", "sending", "uncertain",
		}, messagesAmong(keys))

		require.Equal(t, 10, eraseStored(t, r.users, user).Messages, "%q", user)
		require.Empty(t, diffKeys(before, dumpStore(t, client)), "%q", user)

		require.Equal(t, Erasure{User: user}, eraseStored(t, r.users, user), "%q is gone", user)
	}
}

// trickyNames returns names that could be misread in patterns, keys or members.
func trickyNames() []string {
	return []string{
		"a", "alice", "a:b", "a/b", "*", "?", "[a-z]*", `back\slash`, "sp ace", "{p0001}", "u:a", "m:a:scheduled",
		"sl:{p0001}:u:a", "ünï🙂", "^$|().+", `"quoted"`, "%s%d", "{tag}:}{",
	}
}

func TestEraseLeavesOthersAlone(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	requireOthersUntouched(t, client, trickyNames()...)
}

func TestEraseLeavesOthersAloneOnRealRedis(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	requireOthersUntouched(t, redistest.Real(t).Client(), trickyNames()...)
}

func TestEraseLeavesOthersAloneOnACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	requireOthersUntouched(t, redistest.RealCluster(t).Client(), "a", "alice", "*", "{p0001}", "[a-z]*")
}

func TestExportIsEverything(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]redis.UniversalClient{
		"embedded": func() redis.UniversalClient { _, client := redistest.Embedded(t); return client }(),
		"real":     redistest.Real(t).Client(),
	} {
		t.Run(name, func(t *testing.T) {
			r := newPopulation(t, client, time.Now())
			user := "alice:[*]"
			r.addUser(neighborOf(user, ":"))
			r.addUser(user)
			data, err := r.users.Export(t.Context(), user, nil)
			require.NoError(t, err)
			at := func(after time.Duration) message.Time { return message.Time{Time: r.now.Add(after)} }
			ms := func(ms int64) message.Time { return message.Time{Time: time.UnixMilli(ms).UTC()} }
			postponed := at(9*time.Hour + 11*time.Minute)

			var states []string
			for _, m := range data.Messages {
				states = append(states, m.ID+" "+m.Status)
				content := canaryOf(user)
				if m.Status == messages.StateDelivered.String() || m.Status == messages.StateCancelled.String() {
					content = ""
				}
				require.Equal(t, content, m.Body, m.ID)
			}
			require.Equal(t, []string{
				"a:b scheduled", "ahead scheduled", "cancelled cancelled", "delivered delivered", "failed failed",
				"moved moved", "postponed postponed", "scheduled scheduled", "sending sending", "uncertain uncertain",
			}, states)
			require.Equal(t, at(25*time.Hour), data.Messages[5].MovedFrom)
			require.Equal(t, at(9*time.Hour), data.Messages[6].PromisedAt)
			require.Equal(t, "of-"+user, data.Messages[3].ProviderID)
			require.Equal(t, []message.Conflict{
				{ID: "delivered", SendAt: at(time.Hour)},
				{ID: "uncertain", SendAt: at(5 * time.Hour)},
				{ID: "sending", SendAt: at(7 * time.Hour)},
				{ID: "ahead", SendAt: at(9*time.Hour + 10*time.Minute)},
				{ID: "postponed", SendAt: postponed},
				{ID: "scheduled", SendAt: at(21 * time.Hour)},
				{ID: "a:b", SendAt: at(23 * time.Hour)},
				{ID: "moved", SendAt: at(30 * time.Hour)},
			}, data.Timeline)
			require.Equal(t, []DeadEntry{
				{ID: "failed", EndedAt: at(3 * time.Hour)}, {ID: "uncertain", EndedAt: at(5 * time.Hour)},
			}, data.Dead)
			require.Len(t, data.WatchList, 6, "what has not ended")
			require.Contains(t, data.WatchList, WatchEntry{ID: "moved", Generation: "g2-moved", LookAt: at(30*time.Hour - sendlimit.DefaultHorizon)})
			require.Equal(t, map[string]string{"zone": "of-" + user, "contact": "of-" + user}, data.Settings)
			require.Equal(t, []message.Device{device.Shown(deviceOf(user), true)}, data.Devices)
			day := strconv.Itoa(flagDay)
			since := ms(flagDay)
			require.Equal(t, []AlertedDay{{Since: since, Threshold: 80}}, data.Alerted)
			waiting, failed := "user_quota/"+day+"/80/"+user, "user_quota/"+day+"/100/"+user
			require.Equal(t, []Alert{
				{Alert: waiting, Since: since, Threshold: 80, Used: 8, Limit: 10, Status: "waiting", LookAt: ms(1)},
				{
					Alert: failed, Since: since, Threshold: 100, Used: 10, Limit: 10, Status: "failed", Attempts: 3,
					Reason: "rejected", EndedAt: ms(2),
				},
			}, data.Alerts)
			require.Equal(t, []GatheredAlert{{
				Policy: "default", Since: since, Threshold: 80, Used: 8, Limit: 10, GatheredAt: ms(3),
			}}, data.Gathered)
			require.Equal(t, []message.Conflict{{ID: "code", SendAt: ms(2)}}, data.Uncounted)
			require.Equal(t, at(0), data.LateMark)
			require.Equal(t, []message.Conflict{
				{ID: "failed", SendAt: at(3 * time.Hour)}, {ID: "cancelled", SendAt: at(27 * time.Hour)},
			}, data.Ended)

			require.Len(t, data.DryRuns, 1)
			run := data.DryRuns[0]
			require.NotEmpty(t, run.DryRun)
			require.Equal(t, "dry_run_lines", run.Messages[0].ID)
			require.Equal(t, canaryOf(user), run.Messages[0].Body)
			require.Len(t, run.Timeline, 9)
			require.Len(t, run.WatchList, 1)

			data, err = r.users.Export(t.Context(), "nobody", nil)
			require.NoError(t, err)
			require.True(t, data.Empty())
			require.Equal(t, Document{User: "nobody", Timeline: []message.Conflict{}, Messages: []message.Status{}}, data)
		})
	}
}

// An alert whose record has gone is exported for its entries in lists, in whatever order they
// are read.
func TestAlertsWithoutARecord(t *testing.T) {
	t.Parallel()
	at := func(ms int64) message.Time { return message.Time{Time: time.UnixMilli(ms).UTC()} }
	day := "user_quota/" + strconv.Itoa(flagDay)
	waiting, failed := day+"/80/alice", day+"/90/alice"
	entries := []struct {
		kind keyKind
		id   string
	}{{noticesKey, waiting}, {noticesKey, failed}, {deadNoticesKey, failed}}
	for range entries {
		entries = append(entries[1:], entries[0])
		d := newDocument("alice", "")
		for _, e := range entries {
			d.add(e.kind, e.id, at(int64(len(e.kind))))
		}
		d.sort()
		looked := at(int64(len(noticesKey)))
		require.Equal(t, []Alert{
			{Alert: waiting, Since: at(flagDay), Threshold: 80, Status: "waiting", LookAt: looked},
			{Alert: failed, Since: at(flagDay), Threshold: 90, Status: "failed", LookAt: looked, EndedAt: at(int64(len(deadNoticesKey)))},
		}, d.Alerts)
	}
}

func TestTheProgressOfAScanReachesItsEnd(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	pipe := client.Pipeline()
	for n := range 5000 {
		pipe.Set(t.Context(), fmt.Sprintf("foreign:%d", n), "", 0)
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	r := newPopulation(t, client, time.Now())
	var told []int64
	_, err = r.users.Export(t.Context(), "alice", func(done, total int64) {
		require.Equal(t, int64(5000), total)
		told = append(told, done)
	})
	require.NoError(t, err)
	require.True(t, slices.IsSorted(told))
	require.Greater(t, len(told), 2)
	require.Equal(t, int64(5000), told[len(told)-1])
}

func TestUsersRefuseWhatIsNoUser(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	users := usersOf(t, client)
	for _, user := range []string{"", "a\nb", "\xff"} {
		var invalid *fault.InvalidError
		_, err := users.Export(t.Context(), user, nil)
		require.ErrorAs(t, err, &invalid)
		_, err = users.Erase(t.Context(), user, 0, nil)
		require.ErrorAs(t, err, &invalid)
	}
	_, err := New(&backend.Backend{Client: client, Timeline: sendlimit.Options{Prefix: "A"}})
	require.ErrorContains(t, err, "prefix")
}

// What a purge has left of messages that may have been sent is exported, and erased.
func TestPlacesWithoutAMessage(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	p := story.PolicyOf(t, "1/minute")
	p.Categories = map[string]policy.CategoryRules{"marketing": {Rules: story.PolicyOf(t, "2/calendar_day").Rules}}
	o := sendlimit.Options{Records: true, Rules: story.RulesBy(t, p)}
	r := newPopulation(t, client, time.Now())
	var err error
	r.timeline, err = sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	r.gate, err = messages.NewGate(client, o)
	require.NoError(t, err)
	dead, err := messages.NewDeadLetters(client, o)
	require.NoError(t, err)
	for n, id := range []string{"a", "b"} {
		at := time.Duration(n+1) * time.Hour
		request := r.request("alice", id, at)
		request.Record.Category = "marketing"
		d, err := r.timeline.Reserve(t.Context(), request)
		require.NoError(t, err)
		require.True(t, d.Allowed, "%+v", d)
		r.end("alice", id, at, messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout"})
		purged, err := dead.Purge(t.Context(), "alice", id)
		require.NoError(t, err)
		require.True(t, purged)
	}
	require.NotZero(t, client.Exists(t.Context(), r.keys.Category("alice", "marketing")).Val())
	data, err := r.users.Export(t.Context(), "alice", nil)
	require.NoError(t, err)
	require.Empty(t, data.Messages)
	require.Len(t, data.Timeline, 2)
	eraseStored(t, r.users, "alice")
	require.Empty(t, dumpStore(t, client))
}

// The name of a user contains the hash tag and the key of another user.
func TestANameThatLooksLikeAKeyOfAnotherUser(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	r := newPopulation(t, client, time.Now())
	user := "alice"
	r.addUser(fmt.Sprintf("x:{p%04d}:u:%s", keyspace.Partition(user), user))
	before := dumpStore(t, client)
	require.Equal(t, Erasure{User: user}, eraseStored(t, r.users, user))
	require.Empty(t, diffKeys(before, dumpStore(t, client)))
}
