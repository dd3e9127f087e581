package devices

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	holdFor    = 10 * time.Second // longer than a registration takes
	noteWithin = 5 * time.Second  // also for a caller that is gone
)

// count is how many devices of an account a partition has.
type count struct {
	account string
	devices int64
}

// readCounts reads the counts that element i of a reply lists.
func readCounts(in *script.ReplyReader, i int) (counts []count) {
	list := in.Nested(i)
	for k := 0; k < len(list.Reply); k += 2 {
		counts = append(counts, count{list.String(k), list.Int(k + 1)})
	}
	in.Absorb(list)
	return counts
}

// Count returns how many devices of all users an account has.
func (s *Store) Count(ctx context.Context, account string) (int64, error) {
	n, err := s.client.HGet(ctx, s.keys.AccountDevices(account), "all").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, store.Explain(err, "counting the devices of an account")
	}
	return n, nil
}

// hold reserves room for one more device of an account, for a user, and returns the hold: its token
// and the user's partition. It may exceed most by the devices that will be freed. It first counts the
// devices of programs that died during a registration.
func (s *Store) hold(ctx context.Context, account, user string, most, freed int64) (string, error) {
	const doing = "holding room for a device"
	hold := keyspace.NewToken() + " " + strconv.Itoa(keyspace.Partition(user))
	for {
		answer, err := script.Run(ctx, s.client, lua.DeviceHold, doing, s.keysOf(account),
			[]any{script.Milliseconds(s.at), most + freed, hold, holdFor.Milliseconds()})
		if err != nil {
			return "", err
		}
		in := script.Read(answer, doing)
		list := in.Nested(1)
		over := list.Strings(0)
		in.Absorb(list)
		held, err := script.Yes(in)
		switch {
		case err != nil || held:
			return hold, err
		case len(over) == 0:
			return "", &AccountFullError{Account: account, Most: most}
		}
		for _, other := range over {
			if err := s.countOver(ctx, account, other); err != nil {
				return "", err
			}
		}
	}
}

// countOver counts the devices of an account in the partition of a hold, and ends it.
func (s *Store) countOver(ctx context.Context, account, hold string) error {
	_, text, _ := strings.Cut(hold, " ")
	partition, err := strconv.Atoi(text)
	if err != nil {
		return script.ReplyError("counting the devices of an account", "a hold has no partition")
	}
	n, err := s.counted(ctx, account, partition)
	if err == nil {
		err = s.noteOne(ctx, partition, count{account, n}, hold)
	}
	return err
}

// counted returns how many devices of an account a partition has.
func (s *Store) counted(ctx context.Context, account string, partition int) (int64, error) {
	n, err := s.client.HGet(ctx, s.keys.DeviceCounts(partition), account).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, store.Explain(err, "counting the devices of an account")
	}
	return n, nil
}

// release ends a hold with which nothing was registered.
func (s *Store) release(ctx context.Context, account, hold string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	if err := s.client.ZRem(ctx, s.keys.DeviceHolds(account), hold).Err(); err != nil {
		return store.Explain(err, "giving back room for a device")
	}
	return nil
}

// note notes the changed counts of a user's partition, and ends a hold of the account holder, if
// that is not "".
func (s *Store) note(ctx context.Context, user string, counts []count, holder, hold string) error {
	if len(counts) == 0 && hold == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	for _, c := range counts {
		token := ""
		if c.account == holder {
			token, hold = hold, ""
		}
		if err := s.noteOne(ctx, keyspace.Partition(user), c, token); err != nil {
			return err
		}
	}
	if hold != "" {
		return s.release(ctx, holder, hold)
	}
	return nil
}

// noteOne notes one count. Another program may note an older count later, so each reads the count
// again afterwards, and notes it if it changed.
func (s *Store) noteOne(ctx context.Context, partition int, c count, hold string) error {
	const doing = "counting the devices of an account"
	for {
		in := script.Call(ctx, s.client, lua.DeviceNoteCount, doing, s.keysOf(c.account), []any{partition, c.devices, hold})
		if _ = in.Int(0); in.Err != nil {
			return in.Err
		}
		now, err := s.counted(ctx, c.account, partition)
		if err != nil || now == c.devices {
			return err
		}
		c.devices, hold = now, ""
	}
}

// keysOf returns the keys of the devices of an account.
func (s *Store) keysOf(account string) []string {
	return []string{s.keys.AccountDevices(account), s.keys.DeviceHolds(account)}
}

// Recount counts the devices of a user again, after something other than a Store removed some.
func (s *Store) Recount(ctx context.Context, user string) error {
	return s.eachCounted(ctx, keyspace.Partition(user), func(counted map[string][]string, _ []count) error {
		if accounts := counted[user]; accounts != nil {
			return s.recount(ctx, user, accounts)
		}
		return nil
	})
}

// Sweep counts again the devices of each user with a count, and notes the counts of each account. It
// claims devices that have lost their claim.
// It makes its calls within throttle, which may pause.
func (s *Store) Sweep(ctx context.Context, throttle func(ctx context.Context, batch func() error) error) error {
	partitions, err := script.Occupied(ctx, s.client, "looking for devices", script.One(s.keys.DeviceCounts))
	for _, partition := range partitions {
		failed := s.eachCounted(ctx, partition, func(counted map[string][]string, sums []count) error {
			for users := range slices.Chunk(slices.Sorted(maps.Keys(counted)), together) {
				if err := throttle(ctx, func() error {
					for _, user := range users {
						if err := cmp.Or(s.recount(ctx, user, counted[user]), s.reclaim(ctx, user)); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					return err
				}
			}
			return throttle(ctx, func() error {
				for _, c := range sums {
					if err := s.noteOne(ctx, partition, c, ""); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}

// together is how many users a Sweep counts without a pause, and about how many counts a call reads.
const (
	together = 50
	perScan  = 500
)

// eachCounted calls do with the counts of a partition, page by page: the accounts of each user's
// devices, and the sums.
func (s *Store) eachCounted(ctx context.Context, partition int, do func(counted map[string][]string, sums []count) error) error {
	const doing = "looking through the counts of devices"
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		var page []string // field and value in turn
		var err error
		page, cursor, err = s.client.HScan(ctx, s.keys.DeviceCounts(partition), cursor, "", perScan).Result()
		if err != nil {
			return store.Explain(err, doing)
		}
		counted, sums := make(map[string][]string), []count(nil)
		for i := 0; i+1 < len(page); i += 2 {
			account, user, ofUser := strings.Cut(page[i], " ")
			if ofUser {
				counted[user] = append(counted[user], account)
				continue
			}
			n, err := strconv.ParseInt(page[i+1], 10, 64)
			if err != nil {
				return script.ReplyError(doing, "a count is no number")
			}
			sums = append(sums, count{account, n})
		}
		if err := do(counted, sums); err != nil {
			return err
		}
	}
	return nil
}

// recount counts the devices that accounts have of a user.
func (s *Store) recount(ctx context.Context, user string, accounts []string) error {
	const doing = "counting the devices of a user"
	args := []any{user}
	for _, account := range accounts {
		args = append(args, account)
	}
	in := s.run(ctx, lua.DeviceRecount, doing, user, args...)
	in.Reply = script.Reply{[]any(in.Reply)}
	counts := readCounts(in, 0)
	if in.Err != nil {
		return in.Err
	}
	return s.note(ctx, user, counts, "", "")
}
