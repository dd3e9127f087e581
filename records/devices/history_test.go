package devices_test

import (
	"context"
	"fmt"
	"slices"
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

// model is what a Store does with the devices of one user, on a plain list.
type model struct {
	list []devices.Device
	now  time.Time
}

func (m *model) find(id string) int {
	return slices.IndexFunc(m.list, func(d devices.Device) bool { return d.ID == id })
}

// count returns how many devices are of an account.
func (m *model) count(account string) (n int) {
	for _, d := range m.list {
		if d.Account == account {
			n++
		}
	}
	return n
}

// add returns an error that stands for the kind of the store's.
func (m *model) add(d devices.Device, most int64) (devices.Device, devices.Change, error) {
	var same []int // those that d takes the place of
	more := true   // the account gets one more
	for i, other := range m.list {
		address := other.Channel == d.Channel && other.Address == d.Address
		related := other.Account == d.Account || address && (other.Account == "" || d.Account == "")
		if other.ID == d.ID && !related {
			return d, "", &fault.ExistsError{What: "device", Name: d.ID}
		}
		if other.ID == d.ID || address && related {
			same = append(same, i)
			more = more && other.Account != d.Account
		}
	}
	if more && most > 0 && d.Account != "" && m.count(d.Account)+elsewhere >= int(most) && (len(same) > 0 || m.count(d.Account) < devices.Most) {
		return d, "", &devices.AccountFullError{Account: d.Account, Most: most}
	}
	d.RegisteredAt = m.now.Truncate(time.Second)
	change := devices.Replaced
	switch {
	case len(same) == 0 && m.count(d.Account) == devices.Most:
		return d, "", &devices.TooManyError{User: "u"}
	case len(same) == 0:
		m.list = append(m.list, d)
		return d, devices.Added, nil
	case len(same) == 1:
		before := m.list[same[0]]
		before.RegisteredAt, before.LastSuccess, before.Suspect = d.RegisteredAt, time.Time{}, false
		if before == d {
			change = devices.Unchanged
		}
	}
	for _, i := range same {
		if before := m.list[i]; before.Channel == d.Channel && before.Address == d.Address && before.LastSuccess.After(d.LastSuccess) {
			d.LastSuccess = before.LastSuccess
		}
	}
	m.list[same[0]] = d
	for _, i := range slices.Backward(same[1:]) {
		m.list = slices.Delete(m.list, i, i+1)
	}
	return d, change, nil
}

func (m *model) remove(id string, account *string) bool {
	i := m.find(id)
	if i < 0 || account != nil && m.list[i].Account != *account {
		return false
	}
	m.list = slices.Delete(m.list, i, i+1)
	return true
}

func (m *model) removeGone(gone []devices.Gone) (ids []string) {
	m.list = slices.DeleteFunc(m.list, func(d devices.Device) bool {
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
func (m *model) each(ids []string, change func(d *devices.Device) bool) (changed int) {
	for i := range m.list {
		if slices.Contains(ids, m.list[i].ID) && change(&m.list[i]) {
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

// elsewhere is how many devices an account has of another user.
const elsewhere = 1

// checkHistory compares a random history of one user's devices with the model.
func checkHistory(t *rapid.T, client redis.Cmdable, prefix string) {
	base, err := devices.New(client, devices.Options{Prefix: prefix})
	require.NoError(t, err)
	m := &model{now: story.At("10:00")}
	ids := rapid.SampledFrom([]string{"a", "b", "c"})
	accounts := rapid.SampledFrom([]string{"", "acme", "umbrella"})
	addresses := rapid.SampledFrom([]string{"t1", "t2", "t3"})
	some := rapid.SliceOfN(ids, 1, 3)
	ctx := t.Context()
	for _, account := range []string{"acme", "umbrella"} {
		_, _, err := base.Add(ctx, "another", devices.Device{Channel: devices.FCM, Account: account, Address: "t1"}, 0)
		require.NoError(t, err)
	}
	keys := keyspace.KeysUnder(prefix)
	for range rapid.IntRange(1, 25).Draw(t, "calls") {
		m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 999, 60_000, 3_600_000}).Draw(t, "ms")) * time.Millisecond)
		s := base.At(m.now)
		switch rapid.IntRange(0, 8).Draw(t, "call") {
		case 0, 1:
			d := devices.Device{
				ID: ids.Draw(t, "id"), Channel: devices.FCM, Account: accounts.Draw(t, "account"), Address: addresses.Draw(t, "address"),
				App: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "app"), Locale: rapid.SampledFrom([]string{"", "de"}).Draw(t, "locale"),
			}
			if rapid.IntRange(0, 9).Draw(t, "apns") == 0 {
				d.Channel, d.Address = devices.APNs, apnsToken
			}
			most := rapid.SampledFrom([]int64{0, 2, 3}).Draw(t, "most")
			want, wantChange, wantErr := m.add(d, most)
			got, change, err := s.Add(ctx, "u", d, most)
			require.Equal(t, wantErr, err)
			if err == nil {
				require.Equal(t, want, got)
				require.Equal(t, wantChange, change)
			}
		case 2:
			id, account := ids.Draw(t, "id"), accounts.Draw(t, "account")
			removed, err := s.RemoveOf(ctx, account, "u", id)
			require.NoError(t, err)
			require.Equal(t, m.remove(id, &account), removed)
		case 3:
			id := ids.Draw(t, "id")
			removed, err := s.Remove(ctx, "u", id)
			require.NoError(t, err)
			require.Equal(t, m.remove(id, nil), removed)
		case 4:
			var gone []devices.Gone
			for _, id := range some.Draw(t, "gone") {
				g := devices.Gone{ID: id, Address: addresses.Draw(t, "address")}
				if rapid.Bool().Draw(t, "says since when") {
					g.Since = m.now.Add(-time.Duration(rapid.IntRange(0, 120_000).Draw(t, "ms ago")) * time.Millisecond)
				}
				gone = append(gone, g)
			}
			removed, err := s.RemoveGone(ctx, "u", gone)
			require.NoError(t, err)
			require.Equal(t, m.removeGone(gone), removed)
		case 5:
			noted := some.Draw(t, "successes")
			n, err := s.NoteSuccess(ctx, "u", noted)
			require.NoError(t, err)
			require.Equal(t, m.each(noted, m.noteSuccess), n)
		case 6:
			marked, suspect := some.Draw(t, "marked"), rapid.Bool().Draw(t, "suspect")
			call := s.ClearSuspect
			if suspect {
				call = s.MarkSuspect
			}
			n, err := call(ctx, "u", marked)
			require.NoError(t, err)
			require.Equal(t, m.each(marked, func(d *devices.Device) bool {
				changes := d.Suspect != suspect
				d.Suspect = suspect
				return changes
			}), n)
		case 7:
			m.list = nil
			require.NoError(t, client.Del(ctx, keys.Devices("u")).Err())
			require.NoError(t, s.Recount(ctx, "u"))
		case 8: // programs died in between, or know no counts
			require.NoError(t, client.HIncrBy(ctx, keys.DeviceCounts(keyspace.Partition("u")), "acme u", 1).Err())
			require.NoError(t, client.HIncrBy(ctx, keys.DeviceCounts(keyspace.Partition("u")), "acme", 1).Err())
			require.NoError(t, client.Del(ctx, keys.AccountDevices("umbrella")).Err())
			require.NoError(t, s.Sweep(ctx, func(_ context.Context, batch func() error) error { return batch() }))
		}
		for _, account := range []string{"acme", "umbrella"} {
			n, err := s.Count(ctx, account)
			require.NoError(t, err)
			require.EqualValues(t, m.count(account)+elsewhere, n, account)
		}
		list, err := s.List(ctx, "u")
		require.NoError(t, err)
		if len(m.list) == 0 {
			require.Empty(t, list)
			exists, err := client.Exists(ctx, keyspace.KeysUnder(prefix).Devices("u")).Result()
			require.NoError(t, err)
			require.Zero(t, exists)
			continue
		}
		require.Equal(t, m.list, list)
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
