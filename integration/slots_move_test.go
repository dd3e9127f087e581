package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// movingStory is a cluster whose slots move while messages are changed and delivered.
type movingStory struct {
	*clusterStory

	keys keyspace.Keys
	ids  map[string][]string // by user
	live map[string]bool     // by user and id, if an answer said it last

	perhaps               []string // users whose messages may have been accepted
	answered, unavailable int
	moves                 int

	end time.Time // if there is not enough
}

// goesOn reports whether there is not enough yet.
func (s *movingStory) goesOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (s.moves < movingMoves || s.answered-s.unavailable < movingAnswers) && time.Now().Before(s.end)
}

const (
	movingLanes    = 6
	movingIDs      = 4   // of each user whose messages are changed
	movingMoves    = 25  // of slots, and
	movingAnswers  = 500 // that say what became of a change: then it is enough
	movingMost     = 90 * time.Second
	movingMostWait = 8 // ms between two steps of a move
)

// Slots of users and of the queues move between the masters, a few keys at a time, under submits, cancels, moves and
// deliveries of messages that an account is charged for. No change is made in part: what
// is charged, placed, watched and recorded agrees afterwards, and with the answers. No
// answer is an internal error, and nothing is delivered twice.
func TestSlotsMoveUnderChanges(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	s := &movingStory{
		clusterStory: &clusterStory{
			cluster:  redistest.RealCluster(t),
			delivery: &delivery{T: t, receiver: notifiertest.NewReceiver(time.Now), due: map[string]time.Time{}},
		},
		ids: map[string][]string{}, live: map[string]bool{},
	}
	t.Cleanup(s.receiver.Close)
	var err error
	s.keys, err = keyspace.NewKeys("")
	require.NoError(t, err)
	tier := accounts.Tier{MessagesPerHour: 100, MessagesPerDay: 5000}
	s.Submitter = chargedSubmitter(t, s.connect(), "", tier)
	s.relay(s.connect())

	var partitions []int
	for i := range 3 {
		partitions = append(partitions, keyspace.Partition(fmt.Sprint("slot-", i)))
	}
	ended := make(chan struct{})
	s.end = time.Now().Add(movingMost)
	var moving, changing sync.WaitGroup
	var keys []string
	for _, partition := range append(partitions, keyspace.Partition("acme")) {
		keys = append(keys, s.keys.NearOf(partition))
	}
	for _, name := range queue.Names("", len(s.cluster.Nodes)) {
		keys = append(keys, "asynq:{"+name+"}:pending")
	}
	moving.Go(func() { s.moveSlots(keys, ended) })
	next := 0
	for range movingLanes {
		changed, sent := s.usersIn(partitions, &next, 3), s.usersIn(partitions, &next, 12)
		changing.Go(func() { s.changeSome(changed) })
		changing.Go(func() { s.sendSome(sent) })
	}
	changing.Wait()
	close(ended)
	moving.Wait()
	t.Logf("%d moves of slots, %d answers, %d of them unavailable", s.moves, s.answered, s.unavailable)
	require.Greater(t, s.moves, 20)
	require.Greater(t, s.answered-s.unavailable, 300)

	s.late(s.perhaps...)
	s.settled(s.watching)
	s.inspect()
	requireCharged(t, s.watching, "", accounts.Tier{}, s.ids) // cancels stay below its limits
	s.losePlaces()
}

// losePlaces deletes the records of messages on all masters, and waits until the relay has
// freed their places.
func (s *movingStory) losePlaces() {
	s.Helper()
	var timelines []string
	for i := range 30 {
		user := fmt.Sprint("lost-", i)
		o, err := s.Submit(s.Context(), message.Message{
			User: user, ID: "lost", Title: "title", SendAt: time.Now().Add(time.Hour), Account: "acme",
		})
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome, "%+v", o)
		require.NoError(s, s.watching.Del(s.Context(), s.keys.Record(user, "lost")).Err())
		timelines = append(timelines, s.keys.Timeline(user))
	}
	require.Eventually(s, func() bool {
		return !slices.ContainsFunc(timelines, func(key string) bool {
			return s.watching.Exists(s.Context(), key).Val() > 0
		})
	}, time.Minute, 100*time.Millisecond)
}

// Times of programs that soon look after what was not finished, so that the tests are short.
const (
	loadHorizon      = 3 * time.Second
	loadLookAfter    = time.Second
	loadOverdueAfter = 2 * time.Second
)

// relay runs a worker that soon looks after what was not finished.
func (s *clusterStory) relay(client redis.UniversalClient) {
	s.Helper()
	s.watching = s.connect()
	channel, err := webhook.New(webhook.Config{URL: s.receiver.URL(), Now: time.Now})
	require.NoError(s, err)
	opened := taskstest.Open(s, client, backend.Options{Options: sendlimit.Options{Horizon: loadHorizon, LookAfter: loadLookAfter, OverdueAfter: loadOverdueAfter}})
	run := func(ctx context.Context) error {
		worker, err := tasks.NewWorker(opened, tasks.WorkerOptions{
			Notifier: channel, PushTimeout: 20 * time.Second, // a push that a busy machine holds up would be repeated
			Retries:      retry.Policy{Min: 200 * time.Millisecond, Max: time.Second, Attempts: 5},
			RelayOptions: tasks.RelayOptions{RelayEvery: 500 * time.Millisecond, SweepEvery: time.Second, PlacesEvery: time.Second},
		})
		if err != nil {
			return err
		}
		return worker.Run(ctx)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan error, 1)
	go func() {
		err := run(ctx)
		for unavailable := (*fault.UnavailableError)(nil); errors.As(err, &unavailable) && ctx.Err() == nil; {
			err = run(ctx) // a supervisor starts a worker again that a node did not answer in time at its start
		}
		done <- err
	}()
	s.Cleanup(func() {
		cancel()
		require.NoError(s, <-done)
	})
}

// usersIn returns n new users of some partitions.
func (s *movingStory) usersIn(partitions []int, next *int, n int) []string {
	in := make(map[int]bool)
	for _, partition := range partitions {
		in[partition] = true
	}
	var users []string
	for ; len(users) < n; *next++ {
		if user := fmt.Sprint("user-", *next); in[keyspace.Partition(user)] {
			users = append(users, user)
		}
	}
	return users
}

// moveSlots moves the slots of keys, one after the other, until the changes end.
func (s *movingStory) moveSlots(keys []string, ended <-chan struct{}) {
	wait := func() { time.Sleep(rand.N(movingMostWait * time.Millisecond)) }
	for {
		select {
		case <-ended:
			return
		default:
		}
		slot, err := s.watching.ClusterKeySlot(s.Context(), keys[rand.IntN(len(keys))]).Result()
		if err == nil {
			err = s.cluster.MoveSlot(s.Context(), int(slot), rand.IntN(len(s.cluster.Nodes)), 1+rand.IntN(4), wait)
		}
		if err != nil {
			s.Error(err)
			return
		}
		s.mu.Lock()
		s.moves++
		s.mu.Unlock()
		time.Sleep(rand.N(200 * time.Millisecond))
	}
}

// note counts an answer, and reports whether it says what became of a change.
func (s *movingStory) note(what string, o message.Outcome, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered++
	if _, away := errors.AsType[*fault.UnavailableError](err); away {
		s.unavailable++
		return false
	}
	if err != nil {
		s.Errorf("%s: %+v %v", what, o, err)
	}
	return err == nil
}

// changeSome submits, moves and cancels messages of the days after tomorrow.
func (s *movingStory) changeSome(users []string) {
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for s.goesOn() {
		user, id := users[random.IntN(len(users))], fmt.Sprint("m", random.IntN(movingIDs))
		m := message.Message{ID: id, User: user, Title: "Hi", Account: "acme"}
		m.SendAt = noon().Add(time.Duration(random.IntN(30*60)) * time.Minute)
		key, live := user+" "+id, false
		var o message.Outcome
		var err error
		switch random.IntN(5) {
		case 0, 1:
			o, err = s.Cancel(s.Context(), user, id)
			live = o.Outcome != message.Cancelled && o.Code != fault.CodeNotFound
		case 2:
			o, err = s.Move(s.Context(), user, id, m.SendAt)
			live = o.Code != fault.CodeNotFound
		default:
			m.OnConflict = message.OnConflictShift
			o, err = s.Submit(s.Context(), m)
			live = o.Outcome == message.Accepted || o.Code == fault.CodeIDReused
		}
		known := s.note(key, o, err)
		s.mu.Lock()
		if !known {
			delete(s.live, key)
		} else if live || o.Outcome == message.Cancelled || o.Code == fault.CodeNotFound {
			s.live[key] = live
		}
		s.mu.Unlock()
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, user := range users {
		for i := range movingIDs {
			s.ids[user] = append(s.ids[user], fmt.Sprint("m", i))
		}
	}
}

// sendSome submits a message of each user that is due soon, again until it is accepted.
func (s *movingStory) sendSome(users []string) {
	account := "acme"
	if begins := time.Now(); begins.Hour() != begins.Add(3*time.Minute).Hour() {
		account = "" // a late message may get into the next hour, which is not charged
	}
	for _, user := range users {
		accepted := false
		for !accepted && s.goesOn() {
			at := time.Now().Add(time.Second + rand.N(3*time.Second)).UTC().Truncate(time.Millisecond)
			o, err := s.Submit(s.Context(), message.Message{ID: "m", User: user, SendAt: at, Title: "a", Account: account})
			if known := s.note(user, o, err); !known {
				s.mu.Lock()
				s.perhaps = append(s.perhaps, user)
				s.mu.Unlock()
				// If it was accepted, the same message gets the same answer.
				for range 20 {
					o, err = s.Submit(s.Context(), message.Message{ID: "m", User: user, SendAt: at, Title: "a", Account: account})
					if s.note(user, o, err) {
						break
					}
				}
			}
			if accepted = err == nil && o.Outcome == message.Accepted; accepted {
				s.promised(user, o.SendAt.Time)
			}
			time.Sleep(rand.N(20 * time.Millisecond))
		}
		s.mu.Lock()
		s.ids[user] = []string{"m"}
		s.mu.Unlock()
		time.Sleep(rand.N(2 * time.Second))
	}
}

// inspect requires that records, places and the watch lists agree, and with the answers.
func (s *movingStory) inspect() {
	s.Helper()
	ctx := s.Context()
	records := story.RecordsIn(s, s.watching, "")
	for user, ids := range s.ids {
		places, err := s.watching.ZRangeWithScores(ctx, s.keys.Timeline(user), 0, -1).Result()
		require.NoError(s, err)
		placed := make(map[string]int64)
		for _, place := range places {
			id, _ := place.Member.(string)
			placed[id] = int64(place.Score)
		}
		standings, err := records.Look(ctx, user, ids...)
		require.NoError(s, err)
		watched := story.WatchedOf(s, s.watching, s.keys, user)
		for _, m := range standings {
			what := fmt.Sprintf("%s %s: %+v", user, m.ID, m)
			pending := m.State == messages.StatePending
			if expected, known := s.live[user+" "+m.ID]; known {
				require.Equal(s, expected, pending, what)
			}
			at, has := placed[m.ID]
			require.Equal(s, pending || m.State == messages.StateDelivered, has, what)
			if has {
				require.Equal(s, m.SendAt.UnixMilli(), at, what)
			}
			delete(placed, m.ID)
			generation, err := s.watching.HGet(ctx, s.keys.Record(user, m.ID), keyspace.RecordGeneration).Result()
			if !errors.Is(err, redis.Nil) {
				require.NoError(s, err)
			}
			_, isWatched := watched[keyspace.WatchMember(user, m.ID, generation)]
			require.Equal(s, pending, isWatched, what)
		}
		require.Empty(s, placed, "%s: places without a record", user)
	}
}

// chargedSubmitter opens a submitter on a store with an account of the tier.
func chargedSubmitter(t *testing.T, client redis.UniversalClient, prefix string, tier accounts.Tier) *submit.Submitter {
	t.Helper()
	policies := settings.NewPolicies(client, keyspace.KeysUnder(prefix))
	policy, err := policy.Parse(policy.DefaultName, "", "1/minute", "3/hour")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy))
	directory := accounts.New(client, keyspace.KeysUnder(prefix))
	tier.Name = "tier"
	require.NoError(t, directory.SetTier(t.Context(), tier))
	_, err = directory.Create(t.Context(), accounts.Account{Name: "acme", Tier: "tier", Contact: "ops@example.com"})
	require.NoError(t, err)
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{Options: sendlimit.Options{Prefix: prefix}}), submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, submitter.Close()) })
	return submitter
}

// requireCharged waits until the charges match the messages.
func requireCharged(
	t *testing.T, client redis.UniversalClient, prefix string, tier accounts.Tier, ids map[string][]string,
) {
	t.Helper()
	model := sendlimittest.NewChargeModel(nil)
	model.Tiers = map[string]accounts.Tier{"acme": tier}
	for user, of := range ids {
		standings, err := story.RecordsIn(t, client, prefix).Look(t.Context(), user, of...)
		require.NoError(t, err)
		for _, standing := range standings {
			model.Update(standing)
		}
	}
	keys, err := keyspace.NewKeys(prefix)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return client.ZCard(t.Context(), keys.Holds("acme")).Val() == 0
	}, time.Minute, 10*time.Millisecond, "what is settled in the background")
	sendlimittest.RequireCharged(t, client, prefix, model)
}

func changeSomething(ctx context.Context, submitter *submit.Submitter, random *rand.Rand, m message.Message) (err error) {
	switch random.IntN(4) {
	case 0:
		_, err = submitter.Cancel(ctx, m.User, m.ID)
	case 1:
		_, err = submitter.Move(ctx, m.User, m.ID, m.SendAt)
	case 2:
		m.OnConflict = message.OnConflictShift
		_, err = submitter.Submit(ctx, m)
	default:
		_, err = submitter.Submit(ctx, m)
	}
	return err
}
