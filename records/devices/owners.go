package devices

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// claim is a claim of an address, see the package.
type claim struct {
	key, field string // where the owners of the address are
	token      string // "" if nothing was claimed
	before     []owner
}

// owner is an owner of an address, with the token of its claim. The user "" is nobody.
type owner struct{ token, account, user string }

// addressBytes is how many bytes of its hash identify an address in the store: 96 bits.
const addressBytes = 12

// claim claims the address of a device for a user. If takes is false, it ends the user's ownership.
func (s *Store) claim(ctx context.Context, user string, d Device, takes bool) (claim, error) {
	const doing = "claiming the address of a device"
	c := s.unclaimed(d)
	taking := 0
	if takes {
		taking = 1
	}
	in := script.Call(ctx, s.client, lua.DeviceClaim, doing, []string{c.key}, []any{script.Milliseconds(s.at), c.field, keyspace.NewToken(), d.Account, user, taking})
	c.token = in.String(0)
	before := in.Nested(1)
	for k := 0; k < len(before.Reply); k += 3 {
		c.before = append(c.before, owner{before.String(k), before.String(k + 1), before.String(k + 2)})
	}
	in.Absorb(before)
	return c, in.Err
}

// unclaimed returns the claim of a device's address before it is made.
func (s *Store) unclaimed(d Device) claim {
	hash := sha256.Sum256([]byte(d.Channel + " " + d.Address))
	field := base64.RawURLEncoding.EncodeToString(hash[:addressBytes])
	return claim{key: s.keys.DeviceOwners(keyspace.Partition(field)), field: field}
}

// reclaim claims the devices of a user whose addresses nobody claims: their program died after it
// registered them again, while another one removed them and their claim.
func (s *Store) reclaim(ctx context.Context, user string) error {
	if s.shared {
		return nil
	}
	list, err := s.readable(ctx, user)
	for _, d := range list {
		if err != nil {
			return err
		}
		err = s.reclaimOne(ctx, user, d)
	}
	return err
}

func (s *Store) reclaimOne(ctx context.Context, user string, d Device) error {
	c := s.unclaimed(d)
	claimed, err := s.client.HExists(ctx, c.key, c.field).Result()
	if err != nil || claimed {
		return store.Explain(err, "looking for the owner of a device")
	}
	if c, err = s.claim(ctx, user, d, true); err != nil {
		return err
	}
	if len(c.before) > 0 { // somebody else was quicker
		return s.withdraw(ctx, c)
	}
	_, err = s.settle(ctx, c)
	return err
}

// settle ends a claim, after its address was taken from the former owners. It reports false if
// there is a newer claim.
func (s *Store) settle(ctx context.Context, c claim) (bool, error) { return s.endClaim(ctx, c, 1) }

// withdraw ends a claim as if it had not been made.
func (s *Store) withdraw(ctx context.Context, c claim) error {
	_, err := s.endClaim(ctx, c, 0)
	return err
}

func (s *Store) endClaim(ctx context.Context, c claim, settles int) (bool, error) {
	const doing = "settling the address of a device"
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	args := []any{script.Milliseconds(s.at), c.field, c.token, settles}
	for _, o := range c.before {
		args = append(args, o.token)
	}
	return script.Yes(script.Call(ctx, s.client, lua.DeviceSettleClaim, doing, []string{c.key}, args))
}

// takeFrom removes the address of a device from the other users that a claim lists. It adds those
// that had the address to moved.
func (s *Store) takeFrom(ctx context.Context, c claim, user string, d Device, moved map[string]bool) error {
	for _, o := range c.before {
		if o.user == "" || o.user == user {
			continue
		}
		removed, err := s.remove(ctx, o.user, removal{account: o.account, address: d.Address})
		if err != nil {
			return err
		}
		if len(removed) > 0 {
			moved[o.user] = true
		}
	}
	return nil
}

// forget ends a user's ownership of the address of a removed device, unless the user has
// registered it again.
func (s *Store) forget(ctx context.Context, user string, d Device) error {
	c, err := s.claim(ctx, user, d, false)
	if err != nil || c.token == "" {
		return err
	}
	has, err := s.has(ctx, user, d)
	switch {
	case err != nil:
		return err
	case has:
		return s.withdraw(ctx, c)
	}
	if err := s.takeFrom(ctx, c, user, d, map[string]bool{}); err != nil {
		return err
	}
	return s.settleOrWithdraw(ctx, c)
}

// settleOrWithdraw ends a claim for nobody. If there is a newer one, nothing is left to do.
func (s *Store) settleOrWithdraw(ctx context.Context, c claim) error {
	settled, err := s.settle(ctx, c)
	if settled || err != nil {
		return err
	}
	return s.withdraw(ctx, c)
}

// has reports whether a user has a device with the channel, address and account of another one.
func (s *Store) has(ctx context.Context, user string, d Device) (bool, error) {
	list, err := s.readable(ctx, user)
	return slices.ContainsFunc(list, func(own Device) bool {
		return own.Channel == d.Channel && own.Address == d.Address && own.Account == d.Account
	}), err
}

// readable returns a user's devices without those that only a newer program can read.
func (s *Store) readable(ctx context.Context, user string) (list []Device, err error) {
	packed, err := s.client.Get(ctx, s.keys.Devices(user)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, store.Explain(err, "reading the devices of a user")
	}
	for line := range strings.SplitSeq(packed, "\n") {
		if d, err := decodeLine(line); err == nil {
			list = append(list, d)
		}
	}
	return list, nil
}

// Forget ends a user's ownership of all addresses. Call it before anything but a Store erases the
// user's devices.
func (s *Store) Forget(ctx context.Context, user string) error {
	list, err := s.readable(ctx, user)
	if err != nil {
		return err
	}
	for _, d := range list {
		c, err := s.claim(ctx, user, d, false)
		if err != nil {
			return err
		}
		if c.token == "" {
			continue
		}
		if err := s.settleOrWithdraw(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// removal selects the devices of a user to remove: those that match all fields.
type removal struct {
	id      string
	account string // anyAccount for each
	address string
	since   time.Time // not registered after
}

const anyAccount = "*"

// remove removes devices of a user, and returns them, even with an error. Call forget for each
// afterwards, unless a claim lists the user.
func (s *Store) remove(ctx context.Context, user string, removals ...removal) ([]Device, error) {
	const doing = "removing devices"
	args := make([]any, 1, 1+4*len(removals))
	args[0] = user
	for _, r := range removals {
		args = append(args, r.id, r.account, r.address, script.Milliseconds(r.since))
	}
	in := s.run(ctx, lua.DeviceRemove, doing, user, args...)
	removed, counts := readRemoved(in, 0), readCounts(in, 1)
	if in.Err != nil {
		return nil, in.Err
	}
	return removed, s.note(ctx, user, counts, "", "")
}

// readRemoved reads the devices that element i of a reply lists: their ids, channels, accounts and
// addresses.
func readRemoved(in *script.ReplyReader, i int) (removed []Device) {
	list := in.Nested(i)
	for k := 0; k < len(list.Reply); k += 4 {
		d := Device{ID: list.String(k), Channel: channels[list.String(k+1)], Account: list.String(k + 2), Address: list.String(k + 3)}
		removed = append(removed, d)
	}
	in.Absorb(list)
	return removed
}

// freed returns how many devices the account of a device loses when a claim takes the address from
// other users. A user with a claim may not have the device: its program has died, or has not yet
// registered it.
func (s *Store) freed(ctx context.Context, c claim, user string, d Device) (n int64, err error) {
	for _, o := range c.before {
		if o.account != d.Account || o.user == "" || o.user == user {
			continue
		}
		has, err := s.has(ctx, o.user, d)
		if err != nil {
			return 0, err
		}
		if has {
			n++
		}
	}
	return n, nil
}

// giveUp withdraws a claim for a refused device, unless the user has the address. It returns the
// refusal. If the store did not answer, the device may be registered: the claim stays.
func (s *Store) giveUp(ctx context.Context, user string, d Device, c claim, refusal error) error {
	if _, away := errors.AsType[*fault.UnavailableError](refusal); away {
		return refusal
	}
	has, err := s.has(ctx, user, d)
	if !has && err == nil {
		err = s.withdraw(ctx, c)
	}
	if err != nil {
		return errors.Join(refusal, err)
	}
	return refusal
}
