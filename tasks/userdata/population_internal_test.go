package userdata

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// population fills a store with users that have messages in every state.
type population struct {
	*testing.T

	client   redis.UniversalClient
	now      time.Time
	timeline *sendlimit.Timeline
	gate     *messages.Gate
	dryRun   *sendlimit.DryRun // never closed: it died
	users    *Users
	keys     keyspace.Keys
}

// usersOf returns the users of a store.
func usersOf(t *testing.T, client redis.UniversalClient) *Users {
	t.Helper()
	users, err := New(taskstest.Open(t, client, backend.Options{}))
	require.NoError(t, err)
	return users
}

// eraseStored erases a user who has no tasks, without cancelling anything.
func eraseStored(t *testing.T, users *Users, user string) Erasure {
	t.Helper()
	e := Erasure{User: user}
	require.NoError(t, users.eraseStored(t.Context(), &e, nil))
	return e
}

func newPopulation(t *testing.T, client redis.UniversalClient, now time.Time) *population {
	t.Helper()
	o := sendlimit.Options{Records: true}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	gate, err := messages.NewGate(client, o)
	require.NoError(t, err)
	users := usersOf(t, client)
	return &population{
		T: t, client: client, now: now.UTC().Truncate(time.Millisecond),
		timeline: timeline, gate: gate, dryRun: timeline.StartDryRun(client), users: users, keys: story.KeysOf(o),
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

	for _, id := range []string{"dry_run_lines", "scheduled"} {
		_, err = r.dryRun.Reserve(r.Context(), r.request(user, id, 70*time.Hour))
		require.NoError(r, err)
	}
	base := fmt.Sprintf("sl:{p%04d}:", keyspace.Partition(user))
	require.NoError(r, r.client.HSet(r.Context(), base+"o:"+user, "zone", "of-"+user).Err())
	index := []redis.Z{{Member: "a:" + user}, {Member: "b:" + user}, {Member: "p:vip:" + user}}
	require.NoError(r, r.client.ZAdd(r.Context(), r.keys.UsersWithSettings(keyspace.Partition(user)), index...).Err())
	r.addAlerts(user)
	packed, err := devices.Encode([]devices.Device{deviceOf(user)})
	require.NoError(r, err)
	known := devices.New(r.client, keyspace.KeysUnder(""), devices.Options{})
	_, err = known.Add(r.Context(), user, deviceOf(user), 0) // and counts it
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

func (r *population) request(user, id string, after time.Duration) sendlimit.Request {
	return sendlimit.Request{
		User: user, ID: id, At: r.now.Add(after), Now: r.now,
		Record: &sendlimit.Record{Generation: "g-" + tokenOf(id), Fingerprint: id, Content: contentOf(user)},
	}
}

// canaryOf returns the content of a user's messages, in several fields of their records.
func canaryOf(user string) string { return strings.Repeat("canary of "+user+" ", 12) }

// contentOf returns the content of a user's messages as it is stored.
func contentOf(user string) []byte {
	content, err := json.Marshal(message.Content{Body: canaryOf(user)})
	if err != nil {
		panic(err) // the test is wrong
	}
	return content
}

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
