package devices_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func newStore(t *testing.T) (*miniredis.Miniredis, *devices.Store) {
	t.Helper()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("10:00:30.900"))
	s := devices.New(client, keyspace.KeysUnder(""), devices.Options{})
	return server, s
}

// accepted adds a device of alice, and returns it as it is stored.
func accepted(t *testing.T, s *devices.Store, d devices.Device, want devices.Change) devices.Device {
	t.Helper()
	r, err := s.Add(t.Context(), "alice", d, 0)
	require.NoError(t, err)
	require.Equal(t, want, r.Change)
	return r.Device
}

func listed(t *testing.T, s *devices.Store) []devices.Device {
	t.Helper()
	list, err := s.List(t.Context(), "alice")
	require.NoError(t, err)
	return list
}

func TestADeviceIsRegisteredByTheServersClock(t *testing.T) {
	t.Parallel()
	server, s := newStore(t)
	require.Empty(t, listed(t, s))
	stored := accepted(t, s, devices.Device{Channel: devices.FCM, Address: "token", LastSuccess: story.At("09:00"), Suspect: true}, devices.Added)
	require.Equal(t, devices.Device{
		ID: "4993k4l6c6ij", Channel: devices.FCM, Address: "token", RegisteredAt: story.At("10:00:30"),
	}, stored)
	require.Equal(t, []devices.Device{stored}, listed(t, s))

	_, err := s.MarkSuspect(t.Context(), "alice", []string{stored.ID})
	require.NoError(t, err)
	server.SetTime(story.At("12:34"))
	noted, err := s.NoteSuccess(t.Context(), "alice", []string{stored.ID, "unknown"})
	require.NoError(t, err)
	require.Equal(t, 1, noted)
	require.True(t, listed(t, s)[0].Suspect)
	require.Equal(t, story.At("12:00"), listed(t, s)[0].LastSuccess)

	again := accepted(t, s, devices.Device{Channel: devices.FCM, Address: "token"}, devices.Unchanged)
	require.Equal(t, devices.Device{
		ID: stored.ID, Channel: devices.FCM, Address: "token", RegisteredAt: story.At("12:34"), LastSuccess: story.At("12:00"),
	}, again)
	require.Equal(t, []devices.Device{again}, listed(t, s))
}

// Without an id, the same address is the same device, however it is spelled. Another account
// or channel is another one.
func TestAnIDIsMadeOfTheAddress(t *testing.T) {
	t.Parallel()
	_, s := newStore(t)
	first := accepted(t, s, devices.Device{Channel: devices.APNs, Address: apnsToken}, devices.Added)
	accepted(t, s, devices.Device{Channel: devices.APNs, Address: strings.ToUpper(apnsToken)}, devices.Unchanged)
	accepted(t, s, devices.Device{Channel: devices.FCM, Address: apnsToken + ":APA91b"}, devices.Added)
	web := accepted(t, s, devices.Device{Channel: devices.WebPush, Address: subscription}, devices.Added)
	spaced := strings.ReplaceAll(subscription, `:{"p256dh":"`, `: {"extra": [1], "p256dh": "`)
	spaced = strings.Replace(spaced, `{"endpoint"`, "{\n \"expirationTime\": null,\n \"endpoint\"", 1)
	spaced = strings.Replace(strings.Replace(spaced, auth, auth+"==", 1), "6-VV-J", "6+VV+J", 1)
	require.NotEqual(t, subscription, spaced)
	require.Equal(t, web.Address, accepted(t, s, devices.Device{Channel: devices.WebPush, Address: spaced}, devices.Unchanged).Address)
	require.Equal(t, []string{subscription}, []string{web.Address}, "in the one spelling")
	require.Len(t, listed(t, s), 3)

	named := accepted(t, s, devices.Device{ID: "phone", Channel: devices.APNs, Address: apnsToken}, devices.Replaced)
	require.Equal(t, named, listed(t, s)[0])
	require.NotEqual(t, first.ID, named.ID)
	require.Len(t, listed(t, s), 3)
}

func TestDevicesOfAccounts(t *testing.T) {
	t.Parallel()
	_, s := newStore(t)
	token := devices.Device{Channel: devices.FCM, Address: "token"}
	of := func(account string) devices.Device {
		d := token
		d.Account = account
		return d
	}
	acme := accepted(t, s, of("acme"), devices.Added)
	umbrella := accepted(t, s, of("umbrella"), devices.Added)
	require.NotEqual(t, acme.ID, umbrella.ID)

	// An account neither learns of another's devices nor replaces them.
	taken := of("umbrella")
	taken.ID, taken.Address = acme.ID, "another"
	_, err := s.Add(t.Context(), "alice", taken, 0)
	require.Equal(t, &fault.ExistsError{What: "device", Name: acme.ID}, err)
	removed, err := s.RemoveOf(t.Context(), "umbrella", "alice", acme.ID)
	require.NoError(t, err)
	require.False(t, removed)
	require.Equal(t, []devices.Device{acme, umbrella}, listed(t, s))
	require.True(t, acme.For("acme"))
	require.False(t, acme.For("umbrella"))
	require.False(t, acme.For(""))

	// An operator's device is everybody's, so no message reaches it twice.
	shared := accepted(t, s, token, devices.Replaced)
	require.Equal(t, []devices.Device{shared}, listed(t, s))
	require.True(t, shared.For("acme"))
	removed, err = s.RemoveOf(t.Context(), "acme", "alice", shared.ID)
	require.NoError(t, err)
	require.False(t, removed)
	removed, err = s.Remove(t.Context(), "alice", shared.ID)
	require.NoError(t, err)
	require.True(t, removed)
	require.Empty(t, listed(t, s))
}

func TestAUserHasABoundedNumberOfDevices(t *testing.T) {
	t.Parallel()
	_, s := newStore(t)
	for i := range devices.Most {
		accepted(t, s, devices.Device{Channel: devices.FCM, Address: fmt.Sprint("token", i)}, devices.Added)
	}
	more := devices.Device{Channel: devices.FCM, Address: "more"}
	_, err := s.Add(t.Context(), "alice", more, 0)
	require.EqualError(t, err, "the user has 100 devices already: remove one first")
	var refused interface{ Code() fault.Code }
	require.ErrorAs(t, err, &refused)
	require.Equal(t, fault.CodeTooManyDevices, refused.Code())
	accepted(t, s, devices.Device{Channel: devices.FCM, Address: "token7"}, devices.Unchanged)
	accepted(t, s, devices.Device{Channel: devices.FCM, Address: "more", Account: "other"}, devices.Added)
	require.Len(t, listed(t, s), devices.Most+1)
}

// However many register at once, an account has no more devices than it may. Those that are
// registered stay, and are registered again.
func TestAnAccountHasABoundedNumberOfDevices(t *testing.T) {
	t.Parallel()
	server, s := newStore(t)
	const most = 10
	phone := func(i int) devices.Device {
		return devices.Device{ID: "phone", Channel: devices.FCM, Address: fmt.Sprint("token", i), Account: "acme"}
	}
	var all sync.WaitGroup
	var added, full atomic.Int64
	for i := range 4 * most {
		all.Go(func() {
			_, err := s.Add(t.Context(), fmt.Sprint("user", i), phone(i), most)
			if err == nil {
				added.Add(1)
			} else if err.Error() == `account "acme" has as many devices as its tier allows, which is 10: remove one that is not used, or raise devices of the tier` {
				full.Add(1)
			}
		})
	}
	all.Wait()
	require.Equal(t, []int64{most, 3 * most}, []int64{added.Load(), full.Load()})
	again := 0
	for i := range 4 * most {
		if r, err := s.Add(t.Context(), fmt.Sprint("user", i), phone(i), 1); err == nil && r.Change == devices.Unchanged {
			again++
		}
	}
	require.Equal(t, most, again)
	count, err := s.Count(t.Context(), "acme")
	require.NoError(t, err)
	require.EqualValues(t, most, count)
	require.False(t, server.Exists("sl:{d:acme}:holds"))
}

// A program dies while it registers a device. The next one that needs room finds out whether the
// device is there.
func TestADeadProgramsDeviceCounts(t *testing.T) {
	t.Parallel()
	for _, dies := range []int{diesBefore, diesAfter} {
		for at := range 8 {
			server, s := newStore(t)
			client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
			require.NoError(t, client.Ping(t.Context()).Err()) // the handshake is no call
			left := at
			client.AddHook(redistest.Calls(func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
				left--
				if left < -1 || left < 0 && dies == diesBefore {
					return errDied
				}
				if err := next(ctx, cmds); err != nil || left >= 0 {
					return err
				}
				return errDied
			}))
			mortal := devices.New(client, keyspace.KeysUnder(""), devices.Options{})
			add := func(s *devices.Store, user string) error {
				_, err := s.Add(t.Context(), user, devices.Device{Channel: devices.FCM, Address: "of-" + user, Account: "acme"}, 2)
				return err
			}
			require.NoError(t, add(s, "first"))
			_ = add(mortal, "second")
			require.NoError(t, client.Close())
			server.SetTime(story.At("11:00"))
			full := &devices.AccountFullError{Account: "acme", Most: 2}
			if err := add(s, "third"); err != nil {
				require.Equal(t, full, err)
			}
			require.Equal(t, full, add(s, "fourth"), "died at call %d", at)
			registered := 0
			for _, user := range []string{"first", "second", "third"} {
				list, err := s.List(t.Context(), user)
				require.NoError(t, err)
				registered += len(list)
			}
			require.Equal(t, 2, registered, "died at call %d", at)
		}
	}
}

// A newer program's devices are kept, and reported as unreadable.
func TestDevicesOfANewerProgram(t *testing.T) {
	t.Parallel()
	server, s := newStore(t)
	key := story.KeysOf(sendlimit.Options{}).Devices("alice")
	require.NoError(t, server.Set(key, "2:of a newer format"))
	accepted(t, s, devices.Device{ID: "phone", Channel: devices.FCM, Address: "token"}, devices.Added)
	require.Equal(t, devices.APNs, accepted(t, s, devices.Device{ID: "phone", Channel: devices.APNs, Address: apnsToken}, devices.Replaced).Channel)
	for _, call := range []func() (int, error){
		func() (int, error) { return s.NoteSuccess(t.Context(), "alice", []string{"phone"}) },
		func() (int, error) { return s.MarkSuspect(t.Context(), "alice", []string{"phone"}) },
	} {
		changed, err := call()
		require.NoError(t, err)
		require.Equal(t, 1, changed)
	}
	_, err := s.List(t.Context(), "alice")
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Equal(t, "the devices of the user cannot be read: device 1 of a user: it has not 8 fields", away.Detail)
	require.NoError(t, s.Forget(t.Context(), "alice"), "the user can be erased")
	removed, err := s.Remove(t.Context(), "alice", "phone")
	require.NoError(t, err)
	require.True(t, removed)
	server.CheckGet(t, key, "2:of a newer format")
}

func TestAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	server, s := newStore(t)
	server.SetError("LOADING it is")
	_, err := s.Add(t.Context(), "alice", devices.Device{Channel: devices.FCM, Address: "canary"}, 0)
	require.NotContains(t, err.Error(), "canary")
	_, listErr := s.List(t.Context(), "alice")
	_, removeErr := s.Remove(t.Context(), "alice", "a")
	_, goneErr := s.RemoveGone(t.Context(), "alice", []devices.Gone{{ID: "a", Address: "canary"}})
	require.NotContains(t, goneErr.Error(), "canary")
	_, noteErr := s.NoteSuccess(t.Context(), "alice", []string{"a"})
	for _, err := range []error{err, listErr, removeErr, goneErr, noteErr} {
		var away *fault.UnavailableError
		require.ErrorAs(t, err, &away)
	}
}
