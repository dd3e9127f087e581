package devices_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// model is a Store of users' devices on plain lists.
type model struct {
	lists map[string][]devices.Device
	now   time.Time
}

// count returns how many devices are of an account.
func (m *model) count(account string) (n int) {
	for user := range m.lists {
		n += m.countOf(user, account)
	}
	return n
}

func (m *model) countOf(user, account string) (n int) {
	for _, d := range m.lists[user] {
		if d.Account == account {
			n++
		}
	}
	return n
}

// conflict reports whether two users can't both have the devices.
func conflict(d, other devices.Device) bool {
	return d.Channel == other.Channel && d.Address == other.Address && (d.Account == other.Account || d.Account == "" || other.Account == "")
}

// add returns an error that stands for the kind of the store's.
func (m *model) add(user string, d devices.Device, most int64) (devices.Registration, error) {
	var same []int // those that d takes the place of
	more := true   // the account gets one more
	list := m.lists[user]
	for i, other := range list {
		related := other.Account == d.Account || conflict(d, other)
		if other.ID == d.ID && !related {
			return devices.Registration{}, &fault.ExistsError{What: "device", Name: d.ID}
		}
		if other.ID == d.ID || conflict(d, other) {
			same = append(same, i)
			more = more && other.Account != d.Account
		}
	}
	count := m.count(d.Account)
	for other := range m.lists {
		if other != user && slices.ContainsFunc(m.lists[other], func(o devices.Device) bool { return o.Account == d.Account && conflict(d, o) }) {
			count-- // it moves
		}
	}
	if more && most > 0 && d.Account != "" && count >= int(most) {
		return devices.Registration{}, &devices.AccountFullError{Account: d.Account, Most: most}
	}
	r := devices.Registration{Device: d, Change: devices.Replaced}
	r.Device.RegisteredAt = m.now.Truncate(time.Second)
	switch {
	case len(same) == 0:
		r.Change = devices.Added
		same = []int{len(list)}
		list = append(list, r.Device)
	case len(same) == 1:
		before := list[same[0]]
		before.RegisteredAt, before.LastSuccess, before.Suspect = r.Device.RegisteredAt, time.Time{}, false
		if before == r.Device {
			r.Change = devices.Unchanged
		}
	}
	for _, i := range same {
		if before := list[i]; before.Channel == d.Channel && before.Address == d.Address && before.LastSuccess.After(r.Device.LastSuccess) {
			r.Device.LastSuccess = before.LastSuccess
		}
	}
	list[same[0]] = r.Device
	for _, i := range slices.Backward(same[1:]) {
		list = slices.Delete(list, i, i+1)
	}
	m.lists[user] = list
	for other := range m.lists {
		if other != user {
			had := len(m.lists[other])
			m.lists[other] = slices.DeleteFunc(m.lists[other], func(o devices.Device) bool { return conflict(d, o) })
			if len(m.lists[other]) < had {
				r.Moved++
			}
		}
	}
	return r, nil
}

func (m *model) remove(user, id string, account *string) bool {
	list := m.lists[user]
	i := slices.IndexFunc(list, func(d devices.Device) bool { return d.ID == id })
	if i < 0 || account != nil && list[i].Account != *account {
		return false
	}
	m.lists[user] = slices.Delete(list, i, i+1)
	return true
}

func (m *model) removeGone(user string, gone []devices.Gone) []string {
	ids := []string{}
	m.lists[user] = slices.DeleteFunc(m.lists[user], func(d devices.Device) bool {
		remove := slices.ContainsFunc(gone, func(g devices.Gone) bool {
			return g.ID == d.ID && g.Address == d.Address && (g.Since.IsZero() || !d.RegisteredAt.After(g.Since))
		})
		if remove {
			ids = append(ids, d.ID)
		}
		return remove
	})
	return ids
}

// each changes the devices with ids, and returns how many change said it changed.
func (m *model) each(user string, ids []string, change func(d *devices.Device) bool) (changed int) {
	list := m.lists[user]
	for i := range list {
		if slices.Contains(ids, list[i].ID) && change(&list[i]) {
			changed++
		}
	}
	return changed
}

func (m *model) noteSuccess(d *devices.Device) bool {
	hour := m.now.Truncate(time.Hour)
	if !d.LastSuccess.Before(hour) {
		return false
	}
	d.LastSuccess = hour
	return true
}

// requireOwners requires that the store knows the owners of all addresses: each user with each of
// its devices once, and nobody else.
func (m *model) requireOwners(t *rapid.T, client redis.Cmdable, keys keyspace.Keys) {
	var want, got []string
	for user, list := range m.lists {
		for _, d := range list {
			want = append(want, strings.Join([]string{ownersField(d), d.Account, user}, " "))
		}
	}
	for _, d := range []devices.Device{
		{Channel: devices.FCM, Address: "t1"},
		{Channel: devices.FCM, Address: "t2"},
		{Channel: devices.FCM, Address: "t3"},
		{Channel: devices.APNs, Address: apnsToken},
	} {
		claims, err := client.HGetAll(t.Context(), keys.DeviceOwners(keyspace.Partition(ownersField(d)))).Result()
		require.NoError(t, err)
		for field, claims := range claims {
			for line := range strings.SplitSeq(claims, "\n") {
				_, claim, _ := strings.Cut(line, " ")
				owner, settled := strings.CutPrefix(claim, "0 ")
				require.True(t, settled, line)
				got = append(got, field+" "+owner)
			}
		}
	}
	require.ElementsMatch(t, want, got)
}

// checkHistory compares a random history of users' devices with the model.
func checkHistory(t *rapid.T, client redis.Cmdable, prefix string) {
	base := devices.New(client, keyspace.KeysUnder(prefix), devices.Options{})
	m := &model{now: story.At("10:00"), lists: map[string][]devices.Device{}}
	users := rapid.SampledFrom([]string{"u", "u", "v", "w"})
	ids := rapid.SampledFrom([]string{"a", "b", "c"})
	accounts := rapid.SampledFrom([]string{"", "acme", "umbrella"})
	addresses := rapid.SampledFrom([]string{"t1", "t2", "t3"})
	some := rapid.SliceOfN(ids, 1, 3)
	ctx := t.Context()
	keys := keyspace.KeysUnder(prefix)
	for range rapid.IntRange(1, 25).Draw(t, "calls") {
		m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 999, 60_000, 3_600_000}).Draw(t, "ms")) * time.Millisecond)
		s, user := base.At(m.now), users.Draw(t, "user")
		switch rapid.IntRange(0, 9).Draw(t, "call") {
		case 0, 1, 2:
			d := devices.Device{
				ID: ids.Draw(t, "id"), Channel: devices.FCM, Account: accounts.Draw(t, "account"), Address: addresses.Draw(t, "address"),
				App: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "app"), Locale: rapid.SampledFrom([]string{"", "de"}).Draw(t, "locale"),
			}
			if rapid.IntRange(0, 9).Draw(t, "apns") == 0 {
				d.Channel, d.Address = devices.APNs, apnsToken
			}
			most := rapid.SampledFrom([]int64{0, 2, 3}).Draw(t, "most")
			want, wantErr := m.add(user, d, most)
			got, err := s.Add(ctx, user, d, most)
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
		case 3:
			id, account := ids.Draw(t, "id"), accounts.Draw(t, "account")
			removed, err := s.RemoveOf(ctx, account, user, id)
			require.NoError(t, err)
			require.Equal(t, m.remove(user, id, &account), removed)
		case 4:
			id := ids.Draw(t, "id")
			removed, err := s.Remove(ctx, user, id)
			require.NoError(t, err)
			require.Equal(t, m.remove(user, id, nil), removed)
		case 5:
			var gone []devices.Gone
			for _, id := range some.Draw(t, "gone") {
				g := devices.Gone{ID: id, Address: addresses.Draw(t, "address")}
				if rapid.Bool().Draw(t, "says since when") {
					g.Since = m.now.Add(-time.Duration(rapid.IntRange(0, 120_000).Draw(t, "ms ago")) * time.Millisecond)
				}
				gone = append(gone, g)
			}
			removed, err := s.RemoveGone(ctx, user, gone)
			require.NoError(t, err)
			require.Equal(t, m.removeGone(user, gone), removed)
		case 6:
			noted := some.Draw(t, "successes")
			n, err := s.NoteSuccess(ctx, user, noted)
			require.NoError(t, err)
			require.Equal(t, m.each(user, noted, m.noteSuccess), n)
		case 7:
			marked, suspect := some.Draw(t, "marked"), rapid.Bool().Draw(t, "suspect")
			call := s.ClearSuspect
			if suspect {
				call = s.MarkSuspect
			}
			n, err := call(ctx, user, marked)
			require.NoError(t, err)
			require.Equal(t, m.each(user, marked, func(d *devices.Device) bool {
				changes := d.Suspect != suspect
				d.Suspect = suspect
				return changes
			}), n)
		case 8: // the user is erased
			m.lists[user] = nil
			require.NoError(t, s.Forget(ctx, user))
			require.NoError(t, client.Del(ctx, keys.Devices(user)).Err())
			require.NoError(t, s.Recount(ctx, user))
		case 9: // programs died in between, or know no counts
			require.NoError(t, client.HIncrBy(ctx, keys.DeviceCounts(keyspace.Partition("u")), "acme u", 1).Err())
			require.NoError(t, client.HIncrBy(ctx, keys.DeviceCounts(keyspace.Partition("u")), "acme", 1).Err())
			require.NoError(t, client.Del(ctx, keys.AccountDevices("umbrella")).Err())
			require.NoError(t, s.Sweep(ctx, func(_ context.Context, batch func() error) error { return batch() }))
		}
		for _, account := range []string{"acme", "umbrella"} {
			n, err := s.Count(ctx, account)
			require.NoError(t, err)
			require.EqualValues(t, m.count(account), n, account)
		}
		m.requireOwners(t, client, keys)
		for _, user := range []string{"u", "v", "w"} {
			list, err := s.List(ctx, user)
			require.NoError(t, err)
			if len(m.lists[user]) > 0 {
				require.Equal(t, m.lists[user], list)
				continue
			}
			require.Empty(t, list)
			exists, err := client.Exists(ctx, keys.Devices(user)).Result()
			require.NoError(t, err)
			require.Zero(t, exists)
		}
	}
}

func TestDevicesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) { checkHistory(t, client, fmt.Sprintf("d%d", histories.Add(1))) })
}

func TestDevicesAgreeWithTheModelOnRedis(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	client := redistest.Real(t).Client()
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) { checkHistory(t, client, fmt.Sprintf("d%d", histories.Add(1))) })
}
