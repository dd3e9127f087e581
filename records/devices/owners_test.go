package devices_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// program calls a store. Each of its calls waits for its turn, and may be its last.
type program struct {
	name  string
	turns chan int      // of one call each, see below
	ran   chan struct{} // the call
	done  chan struct{}
	died  bool
	err   error
}

const (
	lives = iota
	diesBefore
	diesAfter
)

var errDied = errors.New("the program died")

func (p *program) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	if p.died {
		return errDied
	}
	turn := <-p.turns
	defer func() { p.ran <- struct{}{} }()
	p.died = turn != lives
	if turn == diesBefore {
		return errDied
	}
	err := next(ctx, cmds)
	if p.died {
		return errDied
	}
	return err
}

// Programs register and remove one phone at the same time, for several users, and some die. Once
// they have ended, one user has the phone at most. If one died, so it is when the phone is registered
// again, whoever does. The store knows the owner exactly.
func TestAPhoneHasOneOwner(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	now := story.At("10:00")
	for _, script := range lua.All() { // else the first calls of a script take two turns
		require.NoError(t, script.Load(t.Context(), client).Err())
	}
	for _, seed := range sendlimittest.Seeds(t, 100) {
		server.FlushAll()
		server.SetTime(now)
		told := ownersStory{T: t, client: client, keys: keyspace.KeysUnder(keyspace.DefaultPrefix), address: server.Addr(), random: rand.New(rand.NewPCG(seed, 7))}
		all := devices.New(client, keyspace.KeysUnder(""), devices.Options{})
		if told.random.IntN(2) == 0 {
			told.adds(all, "u")
		}
		stays, exact := told.run(2 + told.random.IntN(3))
		if told.died {
			require.NoError(t, all.Sweep(t.Context(), func(_ context.Context, batch func() error) error { return batch() }))
			last := []string{"u", "v", "w"}[told.random.IntN(3)]
			told.adds(all, last)
			require.Equal(t, []string{last}, told.owners(all), "seed %d: %s", seed, told.log.String())
			// The programs that died would have ended within a minute.
			server.SetTime(now.Add(time.Minute + time.Millisecond))
			told.adds(all, last)
			stays, exact = true, true
		}
		owners := told.owners(all)
		require.LessOrEqual(t, len(owners), 1, "seed %d: %s", seed, told.log.String())
		if stays {
			require.Len(t, owners, 1, "seed %d: %s", seed, told.log.String())
		}
		known := told.known()
		require.Subset(t, known, owners, "seed %d: %s", seed, told.log.String())
		if exact {
			require.Len(t, known, len(owners), "seed %d: %s", seed, told.log.String())
		}
		count, err := all.Count(t.Context(), "acme")
		require.NoError(t, err)
		require.EqualValues(t, len(owners), count)
	}
}

// ownersStory runs programs one call at a time, in a random order.
type ownersStory struct {
	*testing.T

	client  *redis.Client
	keys    keyspace.Keys
	address string
	random  *rand.Rand
	died    bool
	log     strings.Builder
}

// phone is the device that the programs register.
func phone() devices.Device {
	return devices.Device{ID: "phone", Channel: devices.FCM, Address: "token", Account: "acme"}
}

func (s *ownersStory) adds(all *devices.Store, user string) {
	_, err := all.Add(s.Context(), user, phone(), 0)
	require.NoError(s, err, s.log.String())
}

// run runs some programs until they have ended. The phone stays if some register it, and none
// removes it from one of the users that they register it for. If it is also registered for a user
// from whom it is removed, the store may know an owner who has it no more.
func (s *ownersStory) run(programs int) (stays, exact bool) {
	var running []*program
	adds, removes := map[string]bool{}, map[string]bool{}
	for range programs {
		p := &program{turns: make(chan int), ran: make(chan struct{}), done: make(chan struct{})}
		own := redis.NewClient(&redis.Options{Addr: s.address, MaxRetries: -1})
		require.NoError(s, own.Ping(s.Context()).Err()) // the handshake has no turns
		own.AddHook(redistest.Calls(p.onCall))
		store := devices.New(own, keyspace.KeysUnder(""), devices.Options{})
		user, what := []string{"u", "v"}[s.random.IntN(2)], s.random.IntN(5)
		do := func() (err error) { _, err = store.Add(s.Context(), user, phone(), 0); return err }
		switch what {
		case 0:
			do = func() (err error) { _, err = store.Remove(s.Context(), user, phone().ID); return err }
		case 1:
			gone := []devices.Gone{{ID: phone().ID, Address: phone().Address}}
			do = func() (err error) { _, err = store.RemoveGone(s.Context(), user, gone); return err }
		}
		if what < 2 {
			removes[user] = true
		} else {
			adds[user] = true
		}
		p.name = fmt.Sprintf("program %d, %s of %s", len(running), []string{"remove", "gone", "add", "add", "add"}[what], user)
		go func() {
			defer func() { _ = own.Close(); close(p.done) }()
			p.err = do()
		}()
		running = append(running, p)
	}
	deaths := s.random.IntN(3) == 0
	for len(running) > 0 {
		i := s.random.IntN(len(running))
		p, turn := running[i], lives
		if deaths && s.random.IntN(20) == 0 {
			turn = diesBefore + s.random.IntN(2)
		}
		select {
		case p.turns <- turn:
			<-p.ran
			fmt.Fprintf(&s.log, "turn %d of %s\n", turn, p.name)
			s.died = s.died || turn != lives
		case <-p.done:
			running = append(running[:i], running[i+1:]...)
			require.True(s, p.err == nil || p.died, "%v: %s", p.err, s.log.String())
		}
	}
	for user := range adds {
		if removes[user] {
			return false, false
		}
	}
	return len(adds) > 0, true
}

// owners returns the users who have the phone.
func (s *ownersStory) owners(all *devices.Store) (owners []string) {
	for _, user := range []string{"u", "v", "w"} {
		list, err := all.List(s.Context(), user)
		require.NoError(s, err)
		if len(list) > 0 {
			owners = append(owners, user)
		}
	}
	return owners
}

// known returns the users who have the phone, as the index of addresses says.
func (s *ownersStory) known() (owners []string) {
	claims, err := s.client.HVals(s.Context(), s.keys.DeviceOwners(keyspace.Partition(ownersField(phone())))).Result()
	require.NoError(s, err)
	for _, lines := range claims {
		for line := range strings.SplitSeq(lines, "\n") {
			owners = append(owners, strings.Split(line, " ")[3])
		}
	}
	return owners
}

// ownersField is the field of the owners of a device's address.
func ownersField(d devices.Device) string {
	hash := sha256.Sum256([]byte(d.Channel + " " + d.Address))
	return base64.RawURLEncoding.EncodeToString(hash[:12])
}

// An account that has more devices than its lowered bound gets no moved one either, and is told its
// bound. The former user keeps the device. A claim without a device, of a program that died, makes no
// room.
func TestAMoveBeyondTheBound(t *testing.T) {
	t.Parallel()
	server, s := newStore(t)
	for i := range 3 {
		d := phone()
		d.Address = fmt.Sprint("token", i)
		_, err := s.Add(t.Context(), fmt.Sprint("user", i), d, 0)
		require.NoError(t, err)
	}
	moves := phone()
	moves.Address = "token0"
	dying := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	require.NoError(t, dying.Ping(t.Context()).Err()) // the handshake has no turns
	p := &program{turns: make(chan int, 1), ran: make(chan struct{}, 1)}
	p.turns <- diesAfter
	dying.AddHook(redistest.Calls(p.onCall))
	_, err := devices.New(dying, keyspace.KeysUnder(""), devices.Options{}).Add(t.Context(), "bob", moves, 2)
	require.ErrorIs(t, err, errDied)
	require.NoError(t, dying.Close())
	_, err = s.Add(t.Context(), "alice", moves, 2)
	require.Equal(t, &devices.AccountFullError{Account: "acme", Most: 2}, err, "one of three is moved")
	_, err = s.Add(t.Context(), "alice", moves, 1)
	require.Equal(t, &devices.AccountFullError{Account: "acme", Most: 1}, err)
	require.Empty(t, listed(t, s))
	list, err := s.List(t.Context(), "user0")
	require.NoError(t, err)
	require.Len(t, list, 1)
}
