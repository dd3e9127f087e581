package userdata_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/userdata"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// population fills a store with users that have messages in every state.
type population struct {
	*testing.T

	client    redis.UniversalClient
	now       time.Time
	timeline  *sendlimit.Timeline
	gate      *messages.Gate
	rehearsal *sendlimit.Rehearsal // never closed: it died
	users     *userdata.Users
	keys      keyspace.Keys
}

func newPopulation(t *testing.T, client redis.UniversalClient, now time.Time) *population {
	t.Helper()
	o := sendlimit.Options{Records: true}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	gate, err := messages.NewGate(client, o)
	require.NoError(t, err)
	users, err := userdata.New(client, sendlimit.Options{})
	require.NoError(t, err)
	return &population{
		T: t, client: client, now: now.UTC().Truncate(time.Millisecond),
		timeline: timeline, gate: gate, rehearsal: timeline.Rehearse(client), users: users, keys: story.KeysOf(o),
	}
}

// addUser adds a user with messages in every state and all other data of users.
func (r *population) addUser(user string) {
	r.Helper()
	for id, hours := range map[string]int{
		"delivered": 1, "failed": 3, "uncertain": 5, "sending": 7, "postponed": 9,
		"scheduled": 21, "a:b": 23, "moved": 25, "cancelled": 27,
	} {
		r.submit(user, id, time.Duration(hours)*time.Hour)
	}
	r.submit(user, "ahead", 9*time.Hour+10*time.Minute)
	d, err := r.timeline.Move(r.Context(), sendlimit.MoveRequest{
		User: user, ID: "moved", At: r.now.Add(30 * time.Hour), Generation: "g2-moved", Now: r.now,
	})
	require.NoError(r, err)
	require.True(r, d.Allowed)
	_, err = r.timeline.Release(r.Context(), sendlimit.ReleaseRequest{User: user, ID: "cancelled", Now: r.now})
	require.NoError(r, err)
	r.end(user, "delivered", time.Hour, messages.Settlement{Outcome: messages.Delivered, ProviderID: "of-" + user})
	r.end(user, "failed", 3*time.Hour, messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	r.end(user, "uncertain", 5*time.Hour, messages.Settlement{Outcome: messages.Uncertain, Reason: "uncertain"})
	r.claim(user, "sending", 7*time.Hour, messages.Send)
	// The worker is 9 minutes late, half a minute before another message.
	r.claim(user, "postponed", 9*time.Hour+9*time.Minute+30*time.Second, messages.Postponed)

	for _, id := range []string{"rehearsed", "scheduled"} {
		_, err = r.rehearsal.Reserve(r.Context(), r.request(user, id, 70*time.Hour))
		require.NoError(r, err)
	}
	base := fmt.Sprintf("sl:{p%04d}:", keyspace.Partition(user))
	require.NoError(r, r.client.HSet(r.Context(), base+"o:"+user, "zone", "of-"+user).Err())
	index := []redis.Z{{Member: "a:" + user}, {Member: "b:" + user}, {Member: "p:vip:" + user}}
	require.NoError(r, r.client.ZAdd(r.Context(), r.keys.UsersWithSettings(keyspace.Partition(user)), index...).Err())
	r.addAlerts(user)
	packed, err := devices.Encode([]devices.Device{deviceOf(user)})
	require.NoError(r, err)
	known, err := devices.New(r.client, devices.Options{})
	require.NoError(r, err)
	_, _, err = known.Add(r.Context(), user, deviceOf(user), 0) // and counts it
	require.NoError(r, err)
	require.NoError(r, r.client.Set(r.Context(), r.keys.Devices(user), packed, 0).Err())
	require.NoError(r, r.client.ZAdd(r.Context(), r.keys.Uncounted(user), redis.Z{Score: 2, Member: "code"}).Err())
	require.NoError(r, r.client.ZAdd(r.Context(), r.keys.Category(user, "news"), redis.Z{Score: 2, Member: "scheduled"}).Err())
	require.NoError(r, r.client.Set(r.Context(), base+"l:"+user, r.now.UnixMilli(), 0).Err())
}

// deviceOf returns the device of a user.
func deviceOf(user string) devices.Device {
	return devices.Device{
		ID: "phone", Channel: devices.FCM, Account: "acme", RegisteredAt: time.UnixMilli(flagDay).UTC(),
		Address: "token-of-" + hex.EncodeToString([]byte(user)),
	}
}

// flagDay is the beginning of the day of flags and notices, Unix ms.
const flagDay = 1795305600000

// addAlerts adds what alerts write: a flag, a pending notice, a failed one, and
// an entry for the hourly mail.
func (r *population) addAlerts(user string) {
	r.Helper()
	partition := keyspace.Partition(user)
	waiting, failed := "user_quota/"+strconv.Itoa(flagDay)+"/80/"+user, "user_quota/"+strconv.Itoa(flagDay)+"/100/"+user
	_, err := r.client.Pipelined(r.Context(), func(pipe redis.Pipeliner) error {
		pipe.HSet(r.Context(), r.keys.Settings(user), "contact", "of-"+user)
		pipe.Set(r.Context(), r.keys.Alert(keyspace.AlertOfUser, user, flagDay), "80", 0)
		pipe.HSet(r.Context(), r.keys.Notice(user, waiting), "k", "user_quota", "s", user, "u", 8, "l", 10)
		pipe.ZAdd(r.Context(), r.keys.Notices(partition), redis.Z{Score: 1, Member: waiting})
		pipe.HSet(r.Context(), r.keys.Notice(user, failed), "k", "user_quota", "s", user, "u", 10, "l", 10,
			"z", "f", "n", 3, "w", "rejected", "e", 2, "x", `{"rule":"10/day"}`)
		pipe.ZAdd(r.Context(), r.keys.DeadNotices(partition), redis.Z{Score: 2, Member: failed})
		pipe.ZAdd(r.Context(), r.keys.Gathered(partition), redis.Z{
			Score: 3, Member: strconv.Itoa(flagDay) + "/80/8/10/default/" + user,
		})
		return nil
	})
	require.NoError(r, err)
}

// alertAbout returns a notice with an id.
func alertAbout(id, details string, used int64) notices.Notice {
	n, _ := notices.ParseID(id)
	n.Used, n.Limit, n.Details = used, 10, []byte(details)
	return n
}

func (r *population) request(user, id string, after time.Duration) sendlimit.Request {
	return sendlimit.Request{
		User: user, ID: id, At: r.now.Add(after), Now: r.now,
		Record: &sendlimit.Record{Generation: "g-" + tokenOf(id), Fingerprint: id, Content: []byte(canaryOf(user))},
	}
}

// canaryOf returns the content of a user's messages, in several fields of their records.
func canaryOf(user string) string { return strings.Repeat("canary of "+user+" ", 12) }

// tokenOf makes a valid generation of an id.
func tokenOf(id string) string { return strings.ReplaceAll(id, ":", "") }

func (r *population) submit(user, id string, after time.Duration) {
	r.Helper()
	d, err := r.timeline.Reserve(r.Context(), r.request(user, id, after))
	require.NoError(r, err)
	require.True(r, d.Allowed, "%s: %+v", id, d)
}

func (r *population) claim(user, id string, after time.Duration, want messages.Verdict) messages.Delivery {
	r.Helper()
	d := messages.Delivery{User: user, ID: id, Generation: "g-" + id, Nonce: "n-" + id}
	claim, err := r.gate.Claim(r.Context(), d, 12*time.Hour, r.now.Add(after))
	require.NoError(r, err)
	require.Equal(r, want, claim.Verdict, id)
	return d
}

func (r *population) end(user, id string, after time.Duration, s messages.Settlement) {
	r.Helper()
	d := r.claim(user, id, after, messages.Send)
	s.Began = r.now.Add(after)
	recorded, err := r.gate.Settle(r.Context(), d, s, r.now.Add(after))
	require.NoError(r, err)
	require.True(r, recorded)
}

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
		require.Equal(t, 21+3, len(full)-len(before), "keys of %q, three of them of a dry run", user)
		ids, err := r.users.Messages(t.Context(), user, nil)
		require.NoError(t, err)
		require.Len(t, ids, 10)

		erased, err := r.users.Erase(t.Context(), user, nil)
		require.NoError(t, err)
		require.Equal(t, 10, erased.Messages, "%q", user)
		require.Empty(t, diffKeys(before, dumpStore(t, client)), "%q", user)

		erased, err = r.users.Erase(t.Context(), user, nil)
		require.NoError(t, err)
		require.Equal(t, userdata.Erased{}, erased, "%q is gone", user)
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
			at := func(after time.Duration) time.Time { return r.now.Add(after) }
			postponed := at(9*time.Hour + 11*time.Minute)

			var states []string
			for _, m := range data.Messages {
				states = append(states, m.ID+" "+m.State.String())
				content := canaryOf(user)
				if m.State == messages.StateDelivered || m.State == messages.StateCancelled {
					content = ""
				}
				require.Equal(t, content, string(m.Content), m.ID)
			}
			require.Equal(t, []string{
				"a:b pending", "ahead pending", "cancelled cancelled", "delivered delivered", "failed failed",
				"moved pending", "postponed pending", "scheduled pending", "sending sending", "uncertain uncertain",
			}, states)
			require.Equal(t, at(25*time.Hour), data.Messages[5].MovedFrom)
			require.Equal(t, at(9*time.Hour), data.Messages[6].Promised)
			require.Equal(t, "of-"+user, data.Messages[3].ProviderID)
			require.Equal(t, []keyspace.Reservation{
				{ID: "delivered", At: at(time.Hour)},
				{ID: "uncertain", At: at(5 * time.Hour)},
				{ID: "sending", At: at(7 * time.Hour)},
				{ID: "ahead", At: at(9*time.Hour + 10*time.Minute)},
				{ID: "postponed", At: postponed},
				{ID: "scheduled", At: at(21 * time.Hour)},
				{ID: "a:b", At: at(23 * time.Hour)},
				{ID: "moved", At: at(30 * time.Hour)},
			}, data.Places)
			require.Equal(t, []keyspace.Reservation{
				{ID: "failed", At: at(3 * time.Hour)}, {ID: "uncertain", At: at(5 * time.Hour)},
			}, data.DeadLetters)
			require.Len(t, data.Watched, 6, "what has not ended")
			require.Contains(t, data.Watched, userdata.WatchEntry{ID: "moved", Generation: "g2-moved", At: at(30*time.Hour - sendlimit.DefaultHorizon)})
			require.Equal(t, map[string]string{"zone": "of-" + user, "contact": "of-" + user}, data.Settings)
			require.Equal(t, []devices.Device{deviceOf(user)}, data.Devices)
			day := strconv.Itoa(flagDay)
			since := time.UnixMilli(flagDay).UTC()
			require.Equal(t, []userdata.AlertedDay{{Since: since, Threshold: 80}}, data.Alerted)
			waiting, failed := "user_quota/"+day+"/80/"+user, "user_quota/"+day+"/100/"+user
			require.Equal(t, []userdata.Alert{
				{
					Notice: alertAbout(failed, `{"rule":"10/day"}`, 10), State: userdata.NoticeFailed, Attempts: 3,
					Reason: "rejected", EndedAt: time.UnixMilli(2).UTC(),
				},
				{Notice: alertAbout(waiting, "", 8), State: userdata.NoticeWaiting},
			}, data.Alerts)
			require.Equal(t, map[string]time.Time{waiting: time.UnixMilli(1).UTC()}, data.Outbox)
			require.Equal(t, map[string]time.Time{failed: time.UnixMilli(2).UTC()}, data.FailedNotices)
			require.Equal(t, []userdata.GatheredAlert{{
				Policy: "default", Since: since, Threshold: 80, Used: 8, Limit: 10, At: time.UnixMilli(3).UTC(),
			}}, data.Gathered)
			require.Equal(t, []keyspace.Reservation{{ID: "code", At: time.UnixMilli(2).UTC()}}, data.Uncounted)
			require.Equal(t, r.now, data.LateMark)
			require.Equal(t, []keyspace.Reservation{
				{ID: "failed", At: r.now.Add(3 * time.Hour)}, {ID: "cancelled", At: r.now.Add(27 * time.Hour)},
			}, data.Ended)

			require.Len(t, data.DryRuns, 1)
			run := data.DryRuns[0]
			require.NotEmpty(t, run.DryRun)
			require.Equal(t, "rehearsed", run.Messages[0].ID)
			require.Equal(t, canaryOf(user), string(run.Messages[0].Content))
			require.Len(t, run.Places, 9)
			require.Len(t, run.Watched, 1)

			data, err = r.users.Export(t.Context(), "nobody", nil)
			require.NoError(t, err)
			require.True(t, data.Empty())
			require.Equal(t, userdata.Data{User: "nobody"}, data)
		})
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
	_, err = r.users.Messages(t.Context(), "alice", func(done, total int64) {
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
	users, err := userdata.New(client, sendlimit.Options{})
	require.NoError(t, err)
	for _, user := range []string{"", "a\nb", "\xff"} {
		var invalid *fault.InvalidError
		_, err = users.Export(t.Context(), user, nil)
		require.ErrorAs(t, err, &invalid)
		_, err = users.Erase(t.Context(), user, nil)
		require.ErrorAs(t, err, &invalid)
		_, err = users.Messages(t.Context(), user, nil)
		require.ErrorAs(t, err, &invalid)
	}
	_, err = userdata.New(client, sendlimit.Options{Prefix: "A"})
	require.ErrorContains(t, err, "prefix")
}

// The name of a user contains the hash tag and the key of another user.
func TestANameThatLooksLikeAKeyOfAnotherUser(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	r := newPopulation(t, client, time.Now())
	user := "alice"
	r.addUser(fmt.Sprintf("x:{p%04d}:u:%s", keyspace.Partition(user), user))
	before := dumpStore(t, client)
	erased, err := r.users.Erase(t.Context(), user, nil)
	require.NoError(t, err)
	require.Equal(t, userdata.Erased{}, erased)
	require.Empty(t, diffKeys(before, dumpStore(t, client)))
}
