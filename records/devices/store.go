package devices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Options are the options of a Store. The zero value has the keys of DefaultPrefix.
type Options struct {
	// Shared allows several users to have one address. Else it moves to the last that registers it.
	Shared bool
}

// Store keeps the devices of users. Its methods return an *InvalidError for an argument out of
// bounds, and an *UnavailableError if Redis does not answer or has devices that only a newer
// program can read. It is safe for concurrent use.
type Store struct {
	client redis.Cmdable
	keys   keyspace.Keys
	shared bool
	at     time.Time // the time instead of the server's; zero but in tests
}

// New returns the devices in the store behind client.
func New(client redis.Cmdable, keys keyspace.Keys, o Options) *Store {
	return &Store{client: client, keys: keys, shared: o.Shared}
}

// Change says what Add did.
type Change string

// The changes that Add makes.
const (
	Added    Change = "added"
	Replaced Change = "replaced" // it took the place of those with its id or its address
	// Unchanged is a known device. Its registration time is updated, and it is no longer suspect.
	Unchanged Change = "unchanged"
)

// Registration says what Add did.
type Registration struct {
	Device Device // as it is stored, see Complete
	Change Change
	Moved  int // how many other users had the address until now
}

// Add registers a device, or registers it again. It replaces the user's device with the same id,
// and the one with the same address and account. A device without an account and one of an account
// replace each other if they have the same address. Other users lose the address, see the package.
// The time is the server's; the times and Suspect of d are ignored. The error may also be an
// *ExistsError, if another account has a device with the id, or a *TooManyError.
//
// The account may have at most most devices, of all users; 0 is no limit. At the limit, Add only
// registers known devices again, and returns an *AccountFullError for any other.
func (s *Store) Add(ctx context.Context, user string, d Device, most int64) (Registration, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return Registration{}, err
	}
	d.LastSuccess, d.Suspect = time.Time{}, false
	d, err := Complete(d)
	if err != nil {
		return Registration{}, err
	}
	if s.shared {
		r, _, err := s.register(ctx, user, d, most, claim{})
		return r, err
	}
	var first Change
	moved := make(map[string]bool)
	for {
		c, err := s.claim(ctx, user, d, true)
		if err != nil {
			return Registration{}, err
		}
		r, replaced, err := s.register(ctx, user, d, most, c)
		if err != nil {
			return Registration{}, s.giveUp(ctx, user, d, c, err)
		}
		if first == "" {
			first = r.Change
		}
		if err := s.takeFrom(ctx, c, user, d, moved); err != nil {
			return Registration{}, err
		}
		for _, former := range replaced {
			if err := s.forget(ctx, user, former); err != nil {
				return Registration{}, err
			}
		}
		if settled, err := s.settle(ctx, c); settled || err != nil {
			r.Change, r.Moved = first, len(moved)
			return r, err
		}
	}
}

// register registers a complete device of a user, regardless of other users. The room that a claim of
// its address frees counts. It returns the replaced devices with other addresses.
func (s *Store) register(ctx context.Context, user string, d Device, most int64, c claim) (Registration, []Device, error) {
	bounded := most > 0 && d.Account != ""
	a, err := s.add(ctx, user, d, !bounded)
	if err != nil {
		return Registration{}, nil, err
	}
	hold := ""
	if a.status == needsRoom {
		freed, err := s.freed(ctx, c, user, d)
		if err != nil {
			return Registration{}, nil, err
		}
		if hold, err = s.hold(ctx, d.Account, user, most, freed); err != nil {
			return Registration{}, nil, err
		}
		if a, err = s.add(ctx, user, d, true); err != nil {
			return Registration{}, nil, err // it may be registered: the hold stays until it is counted
		}
	}
	if err := s.note(ctx, user, a.counts, d.Account, hold); err != nil {
		return Registration{}, nil, err
	}
	switch a.status {
	case 2:
		return Registration{Device: a.device, Change: Added}, nil, nil
	case 1:
		return Registration{Device: a.device, Change: Replaced}, a.replaced, nil
	case 0:
		return Registration{Device: a.device, Change: Unchanged}, nil, nil
	case -1:
		return Registration{}, nil, &TooManyError{User: user}
	default:
		return Registration{}, nil, &fault.ExistsError{What: "device", Name: d.ID}
	}
}

// addition is the reply of lua/device/add.lua.
type addition struct {
	status   int64
	device   Device // if it is registered
	counts   []count
	replaced []Device // those of other addresses; see readRemoved
}

// needsRoom is the status of a device that needs a hold.
const needsRoom = -3

// add registers a complete device. If more is true, its account may get an additional device.
func (s *Store) add(ctx context.Context, user string, d Device, more bool) (addition, error) {
	const doing = "registering a device"
	mayHaveMore := 0
	if more {
		mayHaveMore = 1
	}
	in := s.run(ctx, lua.DeviceAdd, doing, user,
		script.Milliseconds(s.at), d.ID, letters[d.Channel], d.App, d.Locale, d.Account, d.Address, Most, user, mayHaveMore)
	a := addition{status: in.Int(0), device: d}
	switch {
	case in.Err != nil || a.status >= needsRoom && a.status < 0:
		return a, in.Err
	case a.status < 0 || a.status > 2:
		return a, script.ReplyError(doing, fmt.Sprintf("outcome %d", a.status))
	}
	a.device.RegisteredAt = time.Unix(in.Int(1), 0).UTC()
	if success := in.String(2); success != "" {
		var ok bool
		if a.device.LastSuccess, ok = decodeTime(success, secondsPerHour); !ok {
			in.Fail(2, "time")
		}
	}
	a.counts = readCounts(in, 3)
	a.replaced = readRemoved(in, 4)
	return a, in.Err
}

// List returns the devices of a user, in the order in which they were added.
func (s *Store) List(ctx context.Context, user string) ([]Device, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return nil, err
	}
	packed, err := s.client.Get(ctx, s.keys.Devices(user)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, store.Explain(err, "reading the devices of a user")
	}
	list, err := Decode(packed)
	if err != nil {
		return nil, &fault.UnavailableError{Detail: "the devices of the user cannot be read: " + err.Error(), Err: err}
	}
	return list, nil
}

// Remove removes a device, and reports whether it was there.
func (s *Store) Remove(ctx context.Context, user, id string) (bool, error) {
	return s.removeOf(ctx, anyAccount, user, id)
}

// RemoveOf removes a device that an account, or "", registered, and reports whether it was there.
func (s *Store) RemoveOf(ctx context.Context, account, user, id string) (bool, error) {
	if account != "" && !keyspace.ValidName(account) {
		return false, &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName}
	}
	return s.removeOf(ctx, account, user, id)
}

func (s *Store) removeOf(ctx context.Context, account, user, id string) (bool, error) {
	if err := checkDevices(user, id); err != nil {
		return false, err
	}
	removed, err := s.remove(ctx, user, removal{id: id, account: account})
	if err != nil || len(removed) == 0 {
		return false, err
	}
	return true, s.forget(ctx, user, removed[0])
}

// run calls a script on a user's devices and the counts of the partition.
func (s *Store) run(ctx context.Context, call *lua.Script, doing, user string, args ...any) *script.ReplyReader {
	return script.Call(ctx, s.client, call, doing, []string{s.keys.Devices(user), s.keys.DeviceCounts(keyspace.Partition(user))}, args)
}

func checkDevices(user string, ids ...string) error {
	if err := keyspace.CheckUser(user); err != nil {
		return err
	}
	for _, id := range ids {
		if err := CheckID(id); err != nil {
			return err
		}
	}
	return nil
}
